import type { Command, Commands, Form, Option } from '../../cli/command.js';

/** One form of a command, as a shell completes it. */
export interface FormWords {
  readonly command: string;
  /** Empty: the command has no subcommands. */
  readonly verb: string;
  readonly form: Form;
}

/** An option whose value the shell completes. */
export interface OptionWords {
  readonly command: string;
  /** As it is typed: `--output` or `-o`. */
  readonly typed: readonly string[];
  readonly option: Option;
}

/** The words that the scripts for shells complete. */
export interface Words {
  readonly commands: Commands;
  readonly forms: readonly FormWords[];
  /** The words that may follow `plinth`. */
  readonly first: readonly string[];
  /** The subcommands of the commands that have any. */
  readonly subcommands: readonly (readonly [command: string, verbs: readonly string[]])[];
  /** All options with a value, once for each command. */
  readonly valueOptions: readonly OptionWords[];
}

export function wordsOf(commands: Commands): Words {
  const all = [...commands];
  return {
    commands,
    forms: all.flatMap(([command, { forms }]) =>
      Object.entries(forms).map(([verb, form]) => ({ command, verb, form })),
    ),
    first: [...commands.keys(), '--help', '--version'],
    subcommands: all
      .map(([name, { forms }]): [string, string[]] => [
        name,
        Object.keys(forms).filter((verb) => verb !== ''),
      ])
      .filter(([, verbs]) => verbs.length > 0),
    valueOptions: all.flatMap(([command, { forms }]) => valueOptionsOf(command, forms)),
  };
}

function valueOptionsOf(command: string, forms: Command['forms']): OptionWords[] {
  const options = new Map(Object.values(forms).flatMap(({ options }) => Object.entries(options)));
  return [...options]
    .filter(([, { value }]) => value !== undefined)
    .map(([name, option]) => ({
      command,
      typed: [`--${name}`, ...(option.short === undefined ? [] : [`-${option.short}`])],
      option,
    }));
}

/** The options of a form, as they are typed. */
export const optionsOf = ({ options }: Form): string[] => [
  ...Object.keys(options).map((name) => `--${name}`),
  '--help',
];

/** The words that a form's operands may be; none if the shell cannot know. */
export const operandsOf = ({ completes }: Form): readonly string[] =>
  typeof completes === 'object' ? completes : [];
