import type { Schema } from '../api/doc.js';
import type { FieldForm, Kind } from '../api/kind.js';
import { inputOf, type KnownScopes, type Store, type Stored } from '../api/managed-endpoints.js';
import { knownScopes } from '../auth/user-scopes.js';
import type { Config } from '../config/config.js';
import type { Db } from '../db/db.js';
import { loadDeclarations, resourcesOf } from '../declarations/load-declarations.js';
import { ExitError } from '../errors/exit-error.js';
import { type Failure, Problem } from '../errors/problem.js';
import type { JsonObject } from '../json.js';
import { parseUuid } from '../uuid.js';
import { parse, subcommandOf } from './arguments.js';
import type { CommandTable } from './command.js';
import { configOf, type Io, inputText, UsageError } from './io.js';
import { ListOutput, print } from './output.js';
import { endOf, withDatabase } from './with-database.js';

/**
 * Creates, changes, lists and deletes managed resources, as the command of the table with its name. Throws UsageError before
 * the database is opened, ExitError after.
 */
export async function managedCommand<Item extends Stored, Input>(
  kind: Kind,
  store: Store<Item, Input, KnownScopes, { readonly db: Db }>,
  table: CommandTable,
  args: readonly string[],
  io: Io,
): Promise<void> {
  const { name, create, update } = kind.command!;
  const { verb, rest } = subcommandOf(table, name, args);
  const { values, positionals } = parse(table, name, verb, rest);
  const given = values as Given;
  const command = new ManagedCommand(kind, store, io, given.json === true);
  if (verb === 'create') return command.create(fieldsIn(kind, create, given, io));
  if (verb === 'list') return command.list();
  const id = command.idOf(verb, positionals[0]!);
  if (verb !== 'update') return command.remove(id);
  const fields = fieldsIn(kind, update!, given, io);
  if (Object.keys(fields).length === 0)
    throw new UsageError(`${name} update needs an option that says what changes`, name);
  return command.update(id, fields);
}

class ManagedCommand<Item extends Stored, Input> {
  readonly #config: Config;

  constructor(
    readonly kind: Kind,
    readonly store: Store<Item, Input, KnownScopes, { readonly db: Db }>,
    readonly io: Io,
    readonly json: boolean,
  ) {
    this.#config = configOf(io);
  }

  async create(fields: JsonObject): Promise<void> {
    const { command, secret: member } = this.kind;
    const body = command!.defaults?.(fields) ?? fields;
    const scopes = await this.#scopes();
    const input = this.#checked(() => this.store.read({ scopes }, body));
    await this.#run(async (db) => {
      const { item, secret } = await this.store.create(db, input);
      const shown = { id: item.id, ...(secret !== undefined && { [member]: secret }) };
      const lines = Object.entries(shown).map(
        ([name, value]) => `${`${name}:`.padEnd(member.length + 3)}${value}\n`,
      );
      print(this.io, this.json, shown, lines.join(''));
    });
  }

  async update(id: string, patch: JsonObject): Promise<void> {
    const { kind, store } = this;
    const scopes = await this.#scopes();
    await this.#run(async (db) => {
      const changed = await store.change!(db, id, (before) =>
        store.read({ scopes }, inputOf(kind, patch, store.shown(before)), before),
      );
      if (!changed) throw this.#absent(id);
      print(this.io, this.json, store.shown(changed), '');
    });
  }

  list(): Promise<void> {
    const { kind, store } = this;
    const output = new ListOutput(this.io, this.json);
    return this.#run(async (db) => {
      let page: readonly Item[] = [];
      do {
        page = await store.list(db, page.at(-1)?.id, kind.limit);
        for (const item of page) output.add(store.shown(item));
      } while (page.length === kind.limit);
      output.end();
    });
  }

  remove(id: string): Promise<void> {
    return this.#run(async (db) => {
      if (!(await this.store.remove({ db }, id, () => undefined))) throw this.#absent(id);
      print(this.io, this.json, { id }, '');
    });
  }

  /** Throws UsageError. */
  idOf(verb: string, text: string): string {
    const { idOf = parseUuid } = this.store;
    const { command, singular } = this.kind;
    const { name } = command!;
    const id = idOf(text);
    if (id === undefined) throw new UsageError(`${name} ${verb} needs the id of a ${singular}`, name);
    return id;
  }

  async #scopes(): Promise<readonly string[]> {
    return knownScopes(resourcesOf(await loadDeclarations(this.#config)));
  }

  #run(work: (db: Db) => Promise<void>): Promise<void> {
    return withDatabase(this.io, ({ db }) => work(db), this.#config);
  }

  #absent(id: string): ExitError {
    return new ExitError(`there is no ${this.kind.singular} ${id}`);
  }

  #checked<T>(read: () => T): T {
    const { name, blamesOptions, create } = this.kind.command!;
    try {
      return read();
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (!blamesOptions) throw endOf(error);
      const reasons = (error.more.details as readonly Failure[]).map(({ path, message }) => {
        const field = path.split('/')[1];
        const [option] = Object.entries(create.options).find(
          ([option, { sets = option }]) => sets === field,
        )!;
        return `--${option} ${message}`;
      });
      throw new UsageError(reasons.join('; '), name);
    }
  }
}

type Given = Readonly<Record<string, string | readonly string[] | boolean | undefined>>;

/** The fields that options set. Of a change, a list is empty if its option is. Throws InputError. */
function fieldsIn({ input, command }: Kind, form: FieldForm, given: Given, io: Io): JsonObject {
  const { properties } = input([]);
  const fields: JsonObject = {};
  for (const [name, { sets = name, means, isFile, value: kind }] of Object.entries(form.options)) {
    const value = given[name];
    if (value === undefined || value === false) continue;
    if ((properties[sets] as Schema).type === 'array') {
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
