import type { Form, Option } from '../../cli/command.js';
import { ALL_COMMANDS } from '../../cli/commands.js';

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

export const FORMS: readonly FormWords[] = ALL_COMMANDS.flatMap(([command, { forms }]) =>
  Object.entries(forms).map(([verb, form]) => ({ command, verb, form })),
);

/** What is typed first. */
export const FIRST_WORDS: readonly string[] = [...ALL_COMMANDS.map(([name]) => name), '--help', '--version'];

/** The subcommands of the commands that have any. */
export const SUBCOMMANDS: readonly (readonly [command: string, verbs: readonly string[]])[] =
  ALL_COMMANDS.map(([name, { forms }]): [string, string[]] => [
    name,
    Object.keys(forms).filter((verb) => verb !== ''),
  ]).filter(([, verbs]) => verbs.length > 0);

/** All options with a value, once for each command. */
export const VALUE_OPTIONS: readonly OptionWords[] = ALL_COMMANDS.flatMap(([command, { forms }]) => {
  const options = new Map(Object.values(forms).flatMap(({ options }) => Object.entries(options)));
  return [...options]
    .filter(([, { value }]) => value !== undefined)
    .map(([name, option]) => ({
      command,
      typed: [`--${name}`, ...(option.short === undefined ? [] : [`-${option.short}`])],
      option,
    }));
});

/** The options of a form, as they are typed. */
export const optionsOf = ({ options }: Form): string[] => [
  ...Object.keys(options).map((name) => `--${name}`),
  '--help',
];

/** The words that a form's operands may be; none if the shell cannot know. */
export const operandsOf = ({ completes }: Form): readonly string[] =>
  typeof completes === 'object' ? completes : [];
