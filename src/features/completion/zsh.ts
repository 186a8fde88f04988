import { operandsOf, optionsOf, type Words } from './command-words.js';

/** A script for zsh, to be sourced or stored in a folder of fpath as _plinth. */
export function zshScript({ commands, forms, subcommands, valueOptions }: Words): string {
  return `#compdef plinth
# Completes the commands of plinth in zsh: store it in a folder of fpath as _plinth, or source it.
_plinth() {
  local -a commands
  if (( CURRENT == 2 )); then
    commands=(
${[...commands].map(([name, { summary }]) => `      ${quoted(`${name}:${summary}`)}\n`).join('')}    )
    _describe command commands
    compadd -- --help --version
    return
  fi
  case "$words[2] $words[CURRENT-1]" in
${valueOptions.map(valueCase).join('')}  esac
  if (( CURRENT == 3 )); then
    case "$words[2]" in
${subcommands.map(([command, verbs]) => `      ${command}) compadd -- ${verbs.join(' ')} --help; return;;\n`).join('')}    esac
  fi
  case "$words[2] $words[3]" in
${forms.map(formCase).join('')}  esac
}
if [ "$funcstack[1]" = _plinth ]; then
  _plinth "$@"
else
  compdef _plinth plinth
fi
`;
}

type ValueOption = Words['valueOptions'][number];

function valueCase({ command, typed, option }: ValueOption): string {
  const pattern = typed.map((name) => `'${command} ${name}'`).join('|');
  const words = option.values ? `compadd -- ${option.values.join(' ')}; ` : option.isFile ? '_files; ' : '';
  return `    ${pattern}) ${words}return;;\n`;
}

function formCase({ command, verb, form }: Words['forms'][number]): string {
  const pattern = verb === '' ? `'${command} '*` : `'${command} ${verb}'`;
  const files = form.completes === 'file' ? '_files; ' : '';
  return `    ${pattern}) ${files}compadd -- ${[...operandsOf(form), ...optionsOf(form)].join(' ')};;\n`;
}

/** In single quotes. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
