import { EXITS, type ExitCode } from '../errors/exit-error.js';
import type { Command, Commands, Form, Option } from './command.js';

const WIDTH = 120;
/** More values are listed in the description alone. */
const MAX_VALUES = 3;

export const GENERAL_USAGE = 'usage: plinth [COMMAND] [OPTION]...\n';

/** How to use a command: each form with its options. */
export function usageOf(name: string, { forms }: Command): string {
  return synopsisOf(Object.entries(forms).map(([verb, form]) => formParts(name, verb, form)));
}

/** The whole help of a command. */
export function helpOf(name: string, command: Command): string {
  const { text, forms, examples, exits, failure } = command;
  const details = Object.entries(forms).flatMap(([verb, form]) => detailsOf(verb, form));
  return [
    `${usageOf(name, command)}\n${text}\n`,
    details.length > 0 && details.join('\n'),
    `Examples:\n${examples.map((example) => `  ${example}\n`).join('')}`,
    `Exit codes:\n${rows(exitRows([0, 64, 70, ...exits], failure))}`,
  ]
    .filter((part) => part !== false)
    .join('\n');
}

/** The text of `plinth --help`. */
export function allHelp(commands: Commands): string {
  const summaries = [...commands].map(([name, { summary }]): [string, string] => [name, summary]);
  const codes = Object.keys(EXITS).map((code) => Number(code) as ExitCode);
  return `${GENERAL_USAGE}       plinth --version

${rows(summaries)}
Without COMMAND it runs the service, whose settings are environment variables (docs/configuration.md).
plinth COMMAND --help describes a command, with examples. With --json it prints one JSON document, and errors as
{"error": {"code", "message"}}.

Exit codes:
${rows([...exitRows(codes, undefined), ['130, 143', 'ended by SIGINT or SIGTERM']])}`;
}

function exitRows(codes: readonly ExitCode[], failure: string | undefined): [string, string][] {
  return [...codes]
    .sort((a, b) => a - b)
    .map((code) => [String(code), code === 1 && failure !== undefined ? failure : EXITS[code].meaning]);
}

/** The words of a form that a line break must not part. */
function formParts(name: string, verb: string, { operands, options, synopsis }: Form): string[] {
  const shown = Object.entries(options).filter(([option]) => !synopsis?.includes(`--${option} `));
  return [
    `plinth ${verb === '' ? name : `${name} ${verb}`}`,
    ...(operands === undefined ? [] : [operands]),
    ...(synopsis === undefined ? [] : [synopsis]),
    ...shown.map(([option, details]) => optionPart(option, details)),
  ];
}

function optionPart(name: string, option: Option): string {
  const { short, many, required } = option;
  const text = `${short === undefined ? `--${name}` : `-${short}`}${valueText(option)}`;
  return `${required ? text : `[${text}]`}${many ? '...' : ''}`;
}

const valueText = ({ value, values }: Option): string =>
  value === undefined ? '' : ` ${values && values.length <= MAX_VALUES ? values.join('|') : value}`;

/** Forms below each other, with long ones broken between their parts. */
function synopsisOf(forms: readonly (readonly string[])[]): string {
  const lines = forms.flatMap((parts) => {
    const broken: string[] = [];
    const indent = ' '.repeat(parts[0]!.length + 1);
    for (const part of parts) {
      const last = broken.at(-1);
      if (last !== undefined && last.length + part.length + 8 < WIDTH)
        broken[broken.length - 1] = `${last} ${part}`;
      else broken.push(last === undefined ? part : indent + part);
    }
    return broken;
  });
  return lines.map((line, index) => `${index === 0 ? 'usage: ' : '       '}${line}\n`).join('');
}

function detailsOf(verb: string, { text, options }: Form): string[] {
  const described = Object.entries(options).map(([name, option]): [string, string] => [
    `${option.short === undefined ? '' : `-${option.short}, `}--${name}${option.values ? ` ${option.value}` : valueText(option)}`,
    option.values ? `${option.values.join(', ')}: ${option.text}` : option.text,
  ]);
  const heading = verb === '' ? '' : `${verb}: ${text}\n`;
  return described.length + heading.length === 0 ? [] : [`${heading}${rows(described)}`];
}

const MAX_COLUMN = 26;

/** Names with their texts in a column. */
function rows(pairs: readonly [string, string][]): string {
  const width = Math.max(...pairs.map(([name]) => name.length));
  const column = Math.min(width, MAX_COLUMN);
  const indent = ' '.repeat(column + 4);
  return pairs
    .map(([name, text]) => {
      const gap = name.length > column ? `\n${indent}` : `${' '.repeat(column - name.length)}  `;
      return `  ${name}${gap}${wrapped(text, WIDTH - indent.length).join(`\n${indent}`)}\n`;
    })
    .join('');
}

function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
