import { FIRST_WORDS, FORMS, operandsOf, optionsOf, SUBCOMMANDS, VALUE_OPTIONS } from './words.js';

/** A script for bash, to be sourced. */
export function bashScript(): string {
  return `# Completes the commands of plinth in bash: source <(plinth completion bash)
_plinth() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} words=
  COMPREPLY=()
  if [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W '${FIRST_WORDS.join(' ')}' -- "$current"))
    return
  fi
  case "\${COMP_WORDS[1]} $previous" in
${VALUE_OPTIONS.map(valueCase).join('')}  esac
  if [ "$COMP_CWORD" = 2 ]; then
    case "\${COMP_WORDS[1]}" in
${SUBCOMMANDS.map(([command, verbs]) => `      ${command}) words='${verbs.join(' ')} --help';;\n`).join('')}    esac
  fi
  if [ -z "$words" ]; then
    case "\${COMP_WORDS[1]} \${COMP_WORDS[2]}" in
${FORMS.map(formCase).join('')}    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o bashdefault -F _plinth plinth
`;
}

type ValueOption = (typeof VALUE_OPTIONS)[number];

function valueCase({ command, typed, option }: ValueOption): string {
  const pattern = typed.map((name) => `'${command} ${name}'`).join('|');
  const words = option.values ? `-W '${option.values.join(' ')}'` : option.isFile ? '-f' : undefined;
  return words === undefined
    ? `    ${pattern}) return;;\n`
    : `    ${pattern}) COMPREPLY=($(compgen ${words} -- "$current")); return;;\n`;
}

function formCase({ command, verb, form }: (typeof FORMS)[number]): string {
  const words = [...operandsOf(form), ...optionsOf(form)].join(' ');
  const pattern = verb === '' ? `'${command} '*` : `'${command} ${verb}'`;
  const isFile = form.completes === 'file';
  return isFile
    ? `      ${pattern}) case "$current" in -*) words='${words}';; *) COMPREPLY=($(compgen -f -- "$current")); return;; esac;;\n`
    : `      ${pattern}) words='${words}';;\n`;
}
