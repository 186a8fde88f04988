import type { Kind } from '../api/kind.js';
import type { ExitCode } from '../errors/exit-error.js';
import type { Io } from './io.js';

/** An option of a command. */
export interface Option {
  readonly text: string;
  /** The name of the option's value; absent: the option has none. */
  readonly value?: string;
  /** The values that there are. */
  readonly values?: readonly string[];
  readonly short?: string;
  readonly many?: true;
  readonly required?: true;
  readonly default?: string;
}

/** One way to use a command: with a subcommand, or the only one, under the empty name. */
export interface Form {
  /** The effect of the subcommand; absent if the command has only this one, and says so itself. */
  readonly text?: string;
  /** The names of the arguments, with those in brackets that may be absent, and `...` after one that may be repeated. */
  readonly operands?: string;
  readonly options: Readonly<Record<string, Option>>;
  /** A part of the synopsis that its options do not say. */
  readonly synopsis?: string;
}

/** A command of `plinth`. Its help and its arguments follow from this. */
export interface Command {
  /** Continues "plinth NAME ...". */
  readonly summary: string;
  readonly aliases?: readonly string[];
  readonly forms: Readonly<Record<string, Form>>;
  readonly text: string;
  readonly examples: readonly string[];
  /** Exit codes besides 0, 64 and 70. */
  readonly exits: readonly ExitCode[];
  /** The meaning of exit code 1 for this command. */
  readonly failure?: string;
}

/** Commands by their names. */
export type CommandTable = Readonly<Record<string, Command>>;

/** The parts of the help, in their order. */
export const GROUPS = ['service', 'records', 'copies', 'access', 'receivers', 'tools'] as const;

/** A command with its program. */
export interface RunnableCommand extends Command {
  /** The part of the help in which it stands. */
  readonly group: (typeof GROUPS)[number];
  /**
   * Loads the code of the command, and runs it. Resolves to the exit code; without one it is 0. Throws what ends the command
   * with another code. `list` loads all commands.
   */
  run(
    args: string[],
    io: Io,
    list: () => Promise<Commands>,
    // biome-ignore lint/suspicious/noConfusingVoidType: most commands have no result
  ): Promise<ExitCode | void>;
}

/** All commands by their names, in the order of the help. */
export type Commands = ReadonlyMap<string, RunnableCommand>;

export const JSON_OPTION = {
  json: { text: 'print one JSON document, and errors as JSON' },
} as const satisfies Form['options'];

type Given<O extends Option> = O extends { readonly value: string }
  ? O extends { readonly many: true }
    ? string[] | undefined
    : O extends { readonly required: true } | { readonly default: string }
      ? string
      : string | undefined
  : boolean;

/** The values of options, by their names. */
export type Values<F extends Form> = { readonly [Name in keyof F['options']]: Given<F['options'][Name]> };

/** The forms of the command that manages resources. */
export function formsOf({ order, command }: Kind): Readonly<Record<string, Form>> {
  const { create, update, remove } = command!;
  const newest = order === 'newest first' ? ', the newest first' : '';
  return {
    create: { text: create.text, options: { ...create.options, ...JSON_OPTION } },
    ...(update && {
      update: { text: update.text, operands: 'ID', options: { ...update.options, ...JSON_OPTION } },
    }),
    list: { text: `prints one JSON object a line${newest}`, options: JSON_OPTION },
    [remove.verb]: { text: remove.text, operands: 'ID', options: JSON_OPTION },
  };
}
