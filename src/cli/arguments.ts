import { parseArgs } from 'node:util';
import type { CommandTable, Form, Values } from './command.js';
import { UsageError } from './io.js';

/** The subcommand that the arguments begin with, and the rest of them. Throws UsageError. */
export function subcommandOf<T extends CommandTable, N extends keyof T & string>(
  table: T,
  name: N,
  [verb, ...rest]: readonly string[],
): { readonly verb: keyof T[N]['forms'] & string; readonly rest: string[] } {
  const verbs = Object.keys(table[name]!.forms);
  if (verb === undefined || verb.startsWith('-'))
    throw new UsageError(`${name} needs a subcommand: ${listed(verbs, 'or')}`, name);
  if (!verbs.includes(verb))
    throw new UsageError(
      `there is no command ${name} ${verb}: there ${verbs.length === 1 ? 'is' : 'are'} ${listed(verbs, 'and')}`,
      name,
    );
  return { verb: verb as never, rest };
}

/** Parses the arguments of one form of a command of a table, of which there are as many as it has. Throws UsageError. */
export function parse<
  T extends CommandTable,
  N extends keyof T & string,
  V extends keyof T[N]['forms'] & string,
>(
  table: T,
  name: N,
  verb: V,
  args: readonly string[],
): { readonly values: Values<T[N]['forms'][V] & Form>; readonly positionals: string[] } {
  const form = table[name]!.forms[verb]!;
  const entries = Object.entries(form.options);
  const options = entries.map(([option, { value, short, many, default: fallback }]) => [
    option,
    {
      type: value === undefined ? 'boolean' : 'string',
      ...(short === undefined ? {} : { short }),
      ...(many ? { multiple: true } : {}),
      ...(value === undefined ? { default: false } : fallback === undefined ? {} : { default: fallback }),
    },
  ]);
  const called = verb === '' ? name : `${name} ${verb}`;
  const { values, positionals } = parsed(name, {
    args: [...args],
    options: Object.fromEntries(options),
    allowPositionals: true,
  });
  const operands = form.operands?.split(' ') ?? [];
  const least = operands.filter((each) => /^[A-Z]/.test(each)).length;
  const most = operands.includes('...') ? Number.POSITIVE_INFINITY : operands.length;
  if (positionals.length < least || positionals.length > most) {
    const known = form.operands === undefined ? 'has no arguments' : `needs ${form.operands}, and no more`;
    throw new UsageError(`${called} ${known}`, name);
  }
  const required = entries.filter(([, { required }]) => required).map(([option]) => option);
  if (required.some((option) => values[option] === undefined))
    throw new UsageError(
      `${called} needs ${listed(
        required.map((option) => `--${option}`),
        'and',
      )}`,
      name,
    );
  for (const [option, { values: known }] of entries) {
    const unknown = [values[option] ?? []].flat().find((each) => known && !known.includes(String(each)));
    if (unknown !== undefined)
      throw new UsageError(`--${option} must be ${listed(known!, 'or')}, not ${unknown}`, name);
  }
  return { values: values as never, positionals };
}

function parsed(name: string, config: Parameters<typeof parseArgs>[0]) {
  try {
    return parseArgs(config);
  } catch (error) {
    throw new UsageError((error as Error).message, name);
  }
}

/** `a, b and c`. */
function listed(words: readonly string[], conjunction: 'and' | 'or'): string {
  if (words.length < 2) return words.join('');
  return `${words.slice(0, -1).join(', ')} ${conjunction} ${words.at(-1)}`;
}
