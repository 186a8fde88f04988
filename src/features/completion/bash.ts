import { operandsOf, optionsOf, type Words } from './command-words.js';

/** A script for bash, to be sourced. */
export function bashScript({ first, forms, subcommands, valueOptions }: Words): string {
  return `# Completes the commands of plinth in bash: source <(plinth completion bash)
_plinth() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} words=
  COMPREPLY=()
  if [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W '${first.join(' ')}' -- "$current"))
    return
  fi
  case "\${COMP_WORDS[1]} $previous" in
${valueOptions.map(valueCase).join('')}  esac
  if [ "$COMP_CWORD" = 2 ]; then
    case "\${COMP_WORDS[1]}" in
${subcommands.map(([command, verbs]) => `      ${command}) words='${verbs.join(' ')} --help';;\n`).join('')}    esac
  fi
  if [ -z "$words" ]; then
    case "\${COMP_WORDS[1]} \${COMP_WORDS[2]}" in
${forms.map(formCase).join('')}    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o bashdefault -F _plinth plinth
`;
}

type ValueOption = Words['valueOptions'][number];

function valueCase({ command, typed, option }: ValueOption): string {
  const pattern = typed.map((name) => `'${command} ${name}'`).join('|');
  const words = option.values ? `-W '${option.values.join(' ')}'` : option.isFile ? '-f' : undefined;
  return words === undefined
    ? `    ${pattern}) return;;\n`
    : `    ${pattern}) COMPREPLY=($(compgen ${words} -- "$current")); return;;\n`;
}

function formCase({ command, verb, form }: Words['forms'][number]): string {
  const words = [...operandsOf(form), ...optionsOf(form)].join(' ');
  const pattern = verb === '' ? `'${command} '*` : `'${command} ${verb}'`;
  const isFile = form.completes === 'file';
  return isFile
    ? `      ${pattern}) case "$current" in -*) words='${words}';; *) COMPREPLY=($(compgen -f -- "$current")); return;; esac;;\n`
    : `      ${pattern}) words='${words}';;\n`;
}
