import type { Schema } from '../api/doc.js';
import type { FieldForm, Kind } from '../api/kind.js';
import { inputOf, type KnownScopes, type Store, type Stored } from '../api/managed-endpoints.js';
import { knownScopes } from '../auth/user-scopes.js';
import type { Db } from '../db/db.js';
import { loadDeclarations, resourcesOf } from '../declarations/load-declarations.js';
import { ExitError } from '../errors/exit-error.js';
import { type Failure, Problem } from '../errors/problem.js';
import type { JsonObject } from '../json.js';
import { parseUuid } from '../uuid.js';
import { parse, subcommandOf } from './arguments.js';
import type { Command, CommandTable } from './command.js';
import { configOf, type Io, inputText, UsageError } from './io.js';
import { print, printPages } from './output.js';
import { endOf, withDatabase } from './with-database.js';

/**
 * Creates, changes, lists and deletes managed resources. Throws UsageError before the database is opened, ExitError after.
 */
export async function managedCommand<Item extends Stored, Input>(
  kind: Kind,
  store: Store<Item, Input, KnownScopes, { readonly db: Db }>,
  command: Command,
  args: readonly string[],
  io: Io,
): Promise<void> {
  const { singular, limit, secret: member = '' } = kind;
  const { name, create, update, defaults } = kind.command!;
  const table: CommandTable = { [name]: command };
  const { verb, rest } = subcommandOf(table, name, args);
  const { values, positionals } = parse(table, name, verb, rest);
  const given = values as Given;
  const json = given.json === true;
  const config = configOf(io);
  const scopesKnown = async () => ({ scopes: knownScopes(resourcesOf(await loadDeclarations(config))) });
  const onDatabase = (work: (db: Db) => Promise<void>) => withDatabase(io, ({ db }) => work(db), config);
  if (verb === 'create') {
    const fields = fieldsIn(kind, create, given, io);
    const known = await scopesKnown();
    const input = checked(kind, () => store.read(known, defaults?.(fields) ?? fields));
    return onDatabase(async (db) => {
      const { item, secret } = await store.create!(db, input);
      const shown = { id: item.id, ...(secret !== undefined && { [member]: secret }) };
      const width = member.length + 3;
      const lines = Object.entries(shown).map(([name, value]) => `${`${name}:`.padEnd(width)}${value}\n`);
      print(io, json, shown, lines.join(''));
    });
  }
  if (verb === 'list')
    return onDatabase((db) =>
      printPages(io, json, limit, (after) => store.list(db, after, limit), store.shown),
    );
  const id = (store.idOf ?? parseUuid)(positionals[0]!);
  if (id === undefined) throw new UsageError(`${name} ${verb} needs the id of a ${singular}`, name);
  const absent = () => new ExitError(`there is no ${singular} ${id}`);
  if (verb !== 'update')
    return onDatabase(async (db) => {
      if (!(await store.remove!({ db }, id, () => undefined))) throw absent();
      print(io, json, { id }, '');
    });
  const patch = fieldsIn(kind, update!, given, io);
  if (Object.keys(patch).length === 0)
    throw new UsageError(`${name} update needs an option that says what changes`, name);
  const known = await scopesKnown();
  return onDatabase(async (db) => {
    const next = (before: Item) => store.read(known, inputOf(kind, patch, store.shown(before)), before);
    const changed = await store.change!(db, id, next);
    if (!changed) throw absent();
    print(io, json, store.shown(changed), '');
  });
}

/** The result of reading the options of a creation. Throws UsageError, in words of the options. */
function checked<T>({ command }: Kind, read: () => T): T {
  const { name, blamesOptions, create } = command!;
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (!blamesOptions) throw endOf(error);
    const reasons = (error.more.details as readonly Failure[]).map(({ path, message }) => {
      const field = path.split('/')[1];
      const [option] = Object.entries(create.options).find(([option, { sets = option }]) => sets === field)!;
      return `--${option} ${message}`;
    });
    throw new UsageError(reasons.join('; '), name);
  }
}

type Given = Readonly<Record<string, string | readonly string[] | boolean | undefined>>;

/** The fields that options set. Of a change, a list is empty if its option is. Throws InputError. */
function fieldsIn({ input, command }: Kind, form: FieldForm, given: Given, io: Io): JsonObject {
  const { properties } = input([]);
  const fields: JsonObject = {};
  for (const [name, { sets = name, means, isFile, value: kind }] of Object.entries(form.options)) {
    const value = given[name];
    const { type } = properties[sets] as Schema;
    if (value === undefined || value === false) continue;
    if (type === 'boolean') fields[sets] = means ?? value === 'yes';
    else if (type === 'array') {
      const list = typeof value === 'object' ? [...value] : String(value).split(',');
      fields[sets] = form === command?.update ? list.filter((each) => each !== '') : list;
    } else if (isFile) fields[sets] = inputText(io, String(value));
    else fields[sets] = kind === 'TIME' ? timeOf(String(value)) : (means ?? String(value));
  }
  return fields;
}

const DAY_MS = 86_400_000;

/** A time as in RFC 3339, from one or from a number of days. */
function timeOf(text: string): string {
  const [, days] = /^(\d{1,5})d$/.exec(text) ?? [];
  return days === undefined ? text : new Date(Date.now() + Number(days) * DAY_MS).toISOString();
}
