import type { Readable } from 'node:stream';
import type { Db, Row, Run, Value } from './db/connect.js';
import { fill, readStatements } from './db/queries.js';
import { FOREIGN_KEY_VIOLATION, faultOf, UNIQUE_VIOLATION } from './db/sqlstate.js';
import { conflict, unknownReference } from './errors.js';
import type { Json, JsonObject } from './json.js';
import { hashPassword } from './password.js';
import type { Resource } from './resource.js';
import { createdAt, nextIdentity, parseUuid } from './uuid.js';
import { compileCheck } from './validate.js';

/** A record as it is stored: `doc` is its JSON text, complete but for `_links`. */
export interface Stored {
  readonly id: string;
  readonly version: number;
  readonly doc: string;
}

/** What a client wants to store, checked: the record's fields, its columns, and a password apart. */
export interface Draft {
  readonly fields: JsonObject;
  readonly columns: readonly Value[];
  readonly password: string | undefined;
}

/** Which records a list holds, and in which order. */
export interface Selection {
  readonly sort: string;
  readonly order: 'asc' | 'desc';
  readonly search: string;
  /** The parent's id, when the list is nested. */
  readonly parent?: string;
}

export interface Page {
  readonly total: number;
  readonly docs: readonly string[];
}

/** A collection that is open: its check is compiled and its statements fit the schema. */
export interface Collection {
  readonly resource: Resource;
  /** Throws the 400 with every failure, or the 422 of a reference that names no record. */
  check(input: Json | undefined): Draft;
  get(id: string): Promise<Stored | undefined>;
  exists(id: string): Promise<boolean>;
  /** Throws the 409 of a duplicate, the 422 of an unknown reference. */
  create(draft: Draft): Promise<Stored>;
  /** Undefined: absent. A number: the current version, which is not the one expected. Throws as create. */
  replace(id: string, draft: Draft, expected: number | null): Promise<Stored | number | undefined>;
  remove(id: string): Promise<void>;
  page(selection: Selection, limit: number, offset: number): Promise<Page>;
  stream(selection: Selection, consume: (rows: Readable) => Promise<void>): Promise<void>;
}

/** Opens a declared collection. Throws when a statement does not fit the schema. */
export async function openCollection(db: Db, resource: Resource): Promise<Collection> {
  const statements = compileStatements(resource);
  await Promise.all(
    [...statements.values()].filter((text) => !text.startsWith('copy')).map((text) => db.describe(text)),
  );
  return collection(db, resource, statements);
}

function collection(db: Db, resource: Resource, statements: ReadonlyMap<string, string>): Collection {
  const check = compileCheck(resource);
  const text = (name: string) => statements.get(name)!;
  const [get, exists, create, replace, remove] = ['get', 'exists', 'create', 'replace', 'remove'].map(
    text,
  ) as [string, string, string, string, string];

  /** One statement, or two in a transaction when a password goes with the record. */
  async function write<T>(draft: Draft, id: string, record: (run: Run) => Promise<T>): Promise<T> {
    try {
      if (draft.password === undefined) return await record(db.run);
      const hash = await hashPassword(draft.password);
      return await db.transaction(async (run) => {
        const written = await record(run);
        if (typeof written === 'object') await run(SET_PASSWORD, [id, hash]);
        return written;
      });
    } catch (error) {
      throw violationOf(error, resource) ?? error;
    }
  }

  return {
    resource,

    check: (input) => {
      const { fields, writeOnly } = check(input);
      if (resource.parent) canonicalReference(fields, resource.parent.field);
      const columns = Object.keys(resource.columns).map((field) => (fields[field] ?? null) as Value);
      return { fields, columns, password: writeOnly.password as string | undefined };
    },

    get: async (id) => {
      const [row] = await db.run(get, [id]);
      return row && { id, version: row.version as number, doc: row.doc as string };
    },

    exists: async (id) => (await db.run(exists, [id])).length > 0,

    create: (draft) => {
      const { id, ms } = nextIdentity();
      const now = new Date(ms).toISOString();
      const stored = { id, version: 1, doc: `${documentHead(id, draft.fields, now, now)}1}` };
      return write(draft, id, async (run) => {
        await run(create, [id, now, stored.doc, ...draft.columns]);
        return stored;
      });
    },

    replace: (id, draft, expected) => {
      const created = createdAt(id);
      const now = new Date(Math.max(Date.now(), created)).toISOString();
      const head = documentHead(id, draft.fields, new Date(created).toISOString(), now);
      return write(draft, id, async (run) => {
        const [row] = await run(replace, [id, expected, now, head, ...draft.columns]);
        if (!row) return undefined;
        if (row.after === null) return row.before as number;
        return { id, version: row.after as number, doc: `${head}${row.after}}` };
      });
    },

    remove: async (id) => {
      await db.run(remove, [id]);
    },

    page: async (selection, limit, offset) => {
      const { kind, settings } = narrow(selection);
      const statement = text(`page${kind}:${selection.sort}:${selection.order}`);
      return pageOf(await db.run(statement, [limit, offset, ...Object.values(settings)]));
    },

    stream: (selection, consume) => {
      const { kind, settings } = narrow(selection);
      return db.copy(text(`stream${kind}:${selection.sort}:${selection.order}`), settings, consume);
    },
  };
}

const SET_PASSWORD = readStatements('users.sql').get('set_password')!;

/** A document up to its version: the fields in the client's order between what the service owns. */
function documentHead(id: string, fields: JsonObject, created: string, updated: string): string {
  const own = JSON.stringify(fields).slice(1, -1);
  return `{"id":"${id}",${own}${own === '' ? '' : ','}"created_at":"${created}","updated_at":"${updated}","_version":`;
}

function canonicalReference(fields: JsonObject, field: string): void {
  const id = parseUuid(String(fields[field]));
  if (id === undefined) throw unknownReference(field);
  fields[field] = id;
}

function violationOf(error: unknown, resource: Resource): Error | undefined {
  const fault = faultOf(error);
  if (fault?.code === UNIQUE_VIOLATION) {
    const taken = resource.unique?.[fault.constraint_name ?? ''];
    return taken && conflict(taken.code, taken.field);
  }
  if (fault?.code === FOREIGN_KEY_VIOLATION && resource.parent)
    return unknownReference(resource.parent.field);
  return undefined;
}

interface Narrowed {
  readonly kind: '' | '_of_parent' | '_matching' | '_matching_short';
  /** What a page statement takes after limit and offset, and a stream statement by name. */
  readonly settings: Readonly<Record<string, string>>;
}

/** Which statement a selection needs: trigrams serve a term that has three letters or digits in a row. */
function narrow({ parent, search }: Selection): Narrowed {
  if (parent !== undefined) return { kind: '_of_parent', settings: { 'plinth.parent': parent } };
  if (search === '') return { kind: '', settings: {} };
  const pattern = { 'plinth.pattern': `%${search.replace(/[\\%_]/g, '\\$&')}%` };
  if (/[\p{L}\p{N}]{3}/u.test(search)) return { kind: '_matching', settings: pattern };
  return { kind: '_matching_short', settings: { ...pattern, 'plinth.term': search } };
}

function pageOf(rows: readonly Row[]): Page {
  const docs = rows.flatMap((row) => (row.doc === null ? [] : [row.doc as string]));
  return { total: Number(rows[0]?.total), docs };
}

/** Every statement of the collection, `page` and `stream` once for each order: `page:name:asc`. */
export function compileStatements(resource: Resource): ReadonlyMap<string, string> {
  const columns = Object.values(resource.columns);
  const parts = {
    table: resource.name,
    columns: columns.map((column) => `, ${column}`).join(''),
    values: columns.map((_, index) => `, $${index + 4}`).join(''),
    changes: columns.map((column, index) => `,\n    ${column} = $${index + 5}`).join(''),
  };
  const compiled = new Map<string, string>();
  for (const [name, template] of readStatements('collection.sql')) {
    const kind = /^(?:page|stream)(.*)$/.exec(name)?.[1];
    if (kind === undefined) compiled.set(name, fill(template, parts));
    else if (applies(kind, resource)) {
      for (const [key, order] of ordersOf(resource))
        compiled.set(`${name}:${key}`, fill(template, { ...parts, ...order }));
    }
  }
  return compiled;
}

function applies(kind: string, resource: Resource): boolean {
  if (kind === '_of_parent') return resource.parent !== undefined;
  return kind === '' || resource.searchable !== undefined;
}

/** `$.` in an order stands for the relation that holds the column at that place of the statement. */
function ordersOf(resource: Resource): [key: string, parts: Record<string, string>][] {
  const parts = {
    search: `lower(${resource.columns[resource.searchable ?? '']})`,
    parent: resource.columns[resource.parent?.field ?? ''] ?? '',
  };
  return ['created_at', ...Object.keys(resource.sortable)].flatMap((sort) =>
    (['asc', 'desc'] as const).map((direction): [string, Record<string, string>] => {
      const expression = resource.sortable[sort]?.[direction];
      const order = expression === undefined ? `$.id ${direction}` : `${expression}, $.id ${direction}`;
      const orders = {
        keys: expression === undefined ? '' : `, ${resource.columns[sort]}`,
        order: order.replaceAll('$.', ''),
        record_order: order.replaceAll('$.', 'record.'),
        match_order: order.replaceAll('$.', 'match.'),
      };
      return [`${sort}:${direction}`, { ...parts, ...orders }];
    }),
  );
}
