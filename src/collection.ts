import type { Readable } from 'node:stream';
import { coalesce } from './db/coalesce.js';
import type { Db, Row, Run, Value } from './db/connect.js';
import { readStatements } from './db/queries.js';
import { FOREIGN_KEY_VIOLATION, faultOf, UNIQUE_VIOLATION } from './db/sqlstate.js';
import { conflict, unknownReference } from './errors.js';
import type { Json, JsonObject } from './json.js';
import { hashPassword } from './password.js';
import type { Resource } from './resource.js';
import { compileStatements, narrow, type Selection } from './statements.js';
import { createdAt, nextIdentity, parseUuid } from './uuid.js';
import { compileCheck } from './validate.js';

/** A record as it is stored: `doc` is its JSON text, complete but for `_links`. */
export interface Stored {
  readonly id: string;
  readonly version: number;
  readonly doc: string;
}

/** When a record was last changed, milliseconds: read where every document has it, before the version. */
export function modifiedAt({ doc, version }: Stored): number {
  const end = doc.length - '","_version":}'.length - String(version).length;
  return Date.parse(doc.slice(end - '2026-01-01T00:00:00.000Z'.length, end));
}

/** What a client wants to store, checked: the record's fields, its columns, and a password apart. */
export interface Draft {
  readonly fields: JsonObject;
  readonly columns: readonly Value[];
  readonly password: string | undefined;
}

export interface Page {
  readonly total: number;
  readonly docs: readonly string[];
}

/** Why there is no record: there never was one, or it was deleted and the service keeps tombstones. */
export type Missing = 'absent' | 'gone';

/** What a record must be for a write to take place; null asks nothing. It is looked at by the statement itself. */
export interface Guard {
  readonly versions: readonly number[] | null;
  readonly notVersions: readonly number[] | null;
  /** Milliseconds; compared by the second, as HTTP dates are. */
  readonly unmodifiedSince: number | null;
}

export const UNGUARDED: Guard = { versions: null, notVersions: null, unmodifiedSince: null };

/** A write that the guard held back, and the record as it was seen. */
export interface Held {
  readonly current: Stored;
}

/**
 * A collection that is open: its check is compiled and its statements fit the schema. Where a `run` is given,
 * the statements run in its transaction.
 */
export interface Collection {
  readonly resource: Resource;
  /** Throws the 400 with every failure, or the 422 of a reference that names no record. */
  check(input: Json | undefined): Draft;
  get(id: string, run?: Run): Promise<Stored | Missing>;
  exists(id: string, run?: Run): Promise<boolean>;
  /** Locks records for the transaction of `run`, in the order of their ids. */
  lock(ids: readonly string[], run: Run): Promise<void>;
  /** Throws the 409 of a duplicate, the 422 of an unknown reference. */
  create(draft: Draft, run?: Run): Promise<Stored>;
  /** Throws as create. */
  replace(id: string, draft: Draft, guard: Guard, run?: Run): Promise<Stored | Held | Missing>;
  /** Undefined when it is done. */
  remove(id: string, guard: Guard, run?: Run): Promise<Held | 'absent' | undefined>;
  page(selection: Selection, limit: number, offset: number, run?: Run): Promise<Page>;
  stream(selection: Selection, consume: (rows: Readable) => Promise<void>): Promise<void>;
}

/** Opens a declared collection. Throws when a statement does not fit the schema. */
export async function openCollection(db: Db, resource: Resource, tombstones: boolean): Promise<Collection> {
  const statements = compileStatements(resource, tombstones);
  const described = [...statements.values()].filter((text) => !text.startsWith('copy'));
  await Promise.all(described.map((text) => db.describe(text)));
  return collection(db, resource, (name) => statements.get(name)!);
}

function collection(db: Db, resource: Resource, text: (name: string) => string): Collection {
  const check = compileCheck(resource);
  const get = text('get');
  const read = coalesce(db.run, text('get_many'));

  /** One statement, or two in a transaction when a password goes with the record. */
  async function write<T>(
    draft: Draft,
    id: string,
    within: Run | undefined,
    record: (run: Run) => Promise<T>,
  ): Promise<T> {
    const { password } = draft;
    try {
      if (password === undefined) return await record(within ?? db.run);
      const hash = await hashPassword(password);
      const both = async (run: Run): Promise<T> => {
        const written = await record(run);
        if (isStored(written)) await run(SET_PASSWORD, [id, hash]);
        return written;
      };
      return await (within ? both(within) : db.transaction(both));
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

    get: async (id, run) => {
      const row = run ? (await run(get, [id]))[0] : await read(id);
      if (!row) return 'absent';
      return row.version === 0 ? 'gone' : { id, version: row.version as number, doc: row.doc as string };
    },

    exists: async (id, run = db.run) => (await run(text('exists'), [id])).length > 0,

    lock: async (ids, run) => {
      await run(text('lock'), [`{${ids.join(',')}}`]);
    },

    create: (draft, within) => {
      const { id, ms } = nextIdentity();
      const now = new Date(ms).toISOString();
      const stored = { id, version: 1, doc: `${documentHead(id, draft.fields, now, now)}1}` };
      return write(draft, id, within, async (run) => {
        await run(text('create'), [id, now, stored.doc, ...draft.columns]);
        return stored;
      });
    },

    replace: (id, draft, guard, within) => {
      const created = createdAt(id);
      const now = new Date(Math.max(Date.now(), created)).toISOString();
      const head = documentHead(id, draft.fields, new Date(created).toISOString(), now);
      return write(draft, id, within, async (run) => {
        const [row] = await run(text('replace'), [id, ...guardArguments(guard), now, head, ...draft.columns]);
        if (!row) return 'absent';
        if (row.before === 0) return 'gone';
        return row.after === null
          ? heldBack(id, row)
          : { id, version: row.after as number, doc: `${head}${row.after}}` };
      });
    },

    remove: async (id, guard, run = db.run) => {
      if (guard === UNGUARDED) {
        await run(text('remove'), [id]);
        return undefined;
      }
      const [row] = await run(text('remove_if'), [id, ...guardArguments(guard)]);
      if (!row) return 'absent';
      return row.after === null ? heldBack(id, row) : undefined;
    },

    page: async (selection, limit, offset, run = db.run) => {
      const { kind, settings } = narrow(selection);
      const statement = text(`page${kind}:${selection.sort}:${selection.order}`);
      return pageOf(await run(statement, [limit, offset, ...Object.values(settings)]));
    },

    stream: (selection, consume) => {
      const { kind, settings } = narrow(selection);
      return db.copy(text(`stream${kind}:${selection.sort}:${selection.order}`), settings, consume);
    },
  };
}

/** Whether a write has taken place. */
export function isStored(outcome: unknown): outcome is Stored {
  return typeof outcome === 'object' && outcome !== null && 'doc' in outcome;
}

function heldBack(id: string, row: Row): Held {
  return { current: { id, version: row.before as number, doc: row.doc as string } };
}

function guardArguments({ versions, notVersions, unmodifiedSince }: Guard): Value[] {
  return [
    versions && `{${versions.join(',')}}`,
    notVersions && `{${notVersions.join(',')}}`,
    unmodifiedSince === null ? null : new Date(unmodifiedSince).toISOString(),
  ];
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

function pageOf(rows: readonly Row[]): Page {
  const docs = rows.flatMap((row) => (row.doc === null ? [] : [row.doc as string]));
  return { total: Number(rows[0]?.total), docs };
}
