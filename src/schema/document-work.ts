import { storedValue } from '../collection/column.js';
import { documentHead, toRecord } from '../collection/document.js';
import { definitionsOf, type Reference, type Resource } from '../collection/resource.js';
import { COLLECTIONS_SQL } from '../db/core-statements.js';
import { databaseErrorOf, FOREIGN_KEY_VIOLATION } from '../db/database-errors.js';
import type { Run } from '../db/db.js';
import { fill } from '../db/statements.js';
import { type Json, type JsonObject, member, setMember } from '../json.js';
import { parseUuid } from '../uuid.js';
import { fieldsAfter } from './field-work.js';
import { removeRecorded } from './recorded-values.js';
import type { DocumentWork, FieldWork } from './step.js';

const BATCH = 1000;
/** How often a batch is written again since a client has deleted a record to which its records refer. */
const MAX_ATTEMPTS = 20;
const FIRST = '00000000-0000-0000-0000-000000000000';

interface Document {
  readonly id: string;
  readonly version: number;
  readonly doc: string;
}

/** The documents of a collection in the order of their ids, some at a time. */
export async function* documentsOf(run: Run, table: string): AsyncGenerator<Document[]> {
  const text = fill(COLLECTIONS_SQL.documents, { table });
  let after = FIRST;
  for (;;) {
    const rows = (await run(text, [after, BATCH])) as unknown as Document[];
    if (rows.length === 0) return;
    yield [...rows];
    after = rows.at(-1)!.id;
  }
}

/** Does the work of a step. It may be repeated: documents for which it is done are as they were. */
export async function workOnDocuments(
  run: Run,
  work: DocumentWork,
  resource: Resource,
  onProgress: (records: number) => void = () => undefined,
): Promise<void> {
  let done = 0;
  for await (const documents of documentsOf(run, resource.table)) {
    let pending: readonly Document[] = documents;
    // A record that a client changes meanwhile is read again, and so are the records to which it refers.
    for (let attempt = 1; pending.length > 0; attempt++)
      pending = await writeBatch(run, work, resource, pending).catch((error: unknown) => {
        if (databaseErrorOf(error)?.code !== FOREIGN_KEY_VIOLATION || attempt > MAX_ATTEMPTS) throw error;
        return [...pending];
      });
    done += documents.length;
    onProgress(done);
  }
  // After the documents, whose former values no later event repeats.
  if (work.kind === 'hide' || work.kind === 'prune') await removeRecorded(run, resource.name, work.fields);
}

/** Writes a batch, and returns the records that have changed since they were read. */
async function writeBatch(
  run: Run,
  work: DocumentWork,
  resource: Resource,
  documents: readonly Document[],
): Promise<Document[]> {
  const { table } = resource;
  const records = documents.map(({ doc }) => JSON.parse(doc) as JsonObject);
  const changed =
    work.kind === 'fill'
      ? await filledColumns(run, resource, work.columns, records)
      : documents.map((document, at) => changes(work, document, records[at]!));
  const rows = documents.flatMap((document, at) =>
    changed[at] === undefined ? [] : [{ ...document, ...changed[at] }],
  );
  if (rows.length === 0) return [];
  const assigned = assignmentsOf(work);
  const written = await run(
    `update ${table} as current set ${assigned}
      from json_to_recordset($1::text::json) as changed (${definitionsOf(resource).join(', ')})
      where current.id = changed.id and current.version = changed.version returning current.id`,
    [JSON.stringify(rows)],
  );
  if (written.length === rows.length) return [];
  const ids = new Set(written.map(({ id }) => id));
  const missing = rows.filter(({ id }) => !ids.has(id)).map(({ id }) => id);
  const found = await run(`select id, version, doc from ${table} where id = any ($1::uuid[])`, [
    `{${missing.join(',')}}`,
  ]);
  return found as unknown as Document[];
}

function assignmentsOf(work: DocumentWork): string {
  if (work.kind === 'fill') return work.columns.map((column) => `${column} = changed.${column}`).join(', ');
  const document = 'doc = changed.doc, version = changed.version + 1';
  // A value that is hidden already is a later one.
  return work.kind === 'hide'
    ? `${document}, write_only = changed.write_only || coalesce(current.write_only, '{}')`
    : document;
}

/** The columns of a record that a step changes, with their new values; undefined: the step does not change the record. */
function changes(work: FieldWork, document: Document, record: JsonObject): object | undefined {
  const fields = fieldsAfter(work, record);
  if (fields === undefined) return undefined;
  const rest = rewritten(document, record, fields);
  if (work.kind !== 'hide') return rest;
  const values = Object.entries(record).filter(
    ([field, value]) => work.fields.includes(field) && value !== null,
  );
  return { ...rest, write_only: Object.fromEntries(values) };
}

/** The values of columns, for each record. A value that its declaration does not permit is not in its column. */
async function filledColumns(
  run: Run,
  { columns, references }: Resource,
  names: readonly string[],
  records: readonly JsonObject[],
): Promise<object[]> {
  const wanted = [...columns].filter(([, { name }]) => names.includes(name));
  const own = references.filter(({ field }) => wanted.some(([name]) => name === field));
  const tables = new Map(own.map(({ to, table }) => [to, table]));
  const dangling = await danglingIn(run, own, records, (collection) => tables.get(collection));
  return records.map((record) =>
    Object.fromEntries(
      wanted.map(([field, column]) => {
        const value = member(record, field);
        const reference = own.find((each) => each.field === field);
        const missing = reference === undefined ? [] : dangling(record, reference);
        const stored = storedValue(column, withoutPlaces(value, missing)) ?? null;
        return [column.name, stored];
      }),
    ),
  );
}

/** The value of a field without the places that refer to no record. */
const withoutPlaces = (value: Json | undefined, missing: readonly string[]): Json | undefined =>
  Array.isArray(value)
    ? value.filter((_, at) => !missing.includes(`/${at}`))
    : missing.length > 0
      ? null
      : value;

/** The next version of a document, with other fields. */
function rewritten(
  { id, version }: Document,
  record: JsonObject,
  entries: readonly [string, Json][],
): { version: number; doc: string } {
  const fields: JsonObject = {};
  for (const [key, value] of entries)
    if (!['id', 'created_at', 'updated_at', '_version'].includes(key)) setMember(fields, key, value);
  const head = documentHead(id, fields, record.created_at as string, record.updated_at as string);
  return { version, doc: toRecord(id, head, version + 1).doc };
}

/** The table of a collection in statements; undefined: it has none yet. */
export type TableOf = (collection: string) => string | undefined;

/** The places in a field of a record that refer to no record: pointers within the field. */
export type Dangling = (record: JsonObject, reference: Reference) => readonly string[];

/** Looks the references of some records up. */
export async function danglingIn(
  run: Run,
  references: readonly Reference[],
  records: readonly JsonObject[],
  tableOf: TableOf,
): Promise<Dangling> {
  const known = new Map<string, ReadonlySet<string>>();
  for (const reference of references) {
    const given = records.flatMap((record) => placesIn(record, reference));
    const ids = [...new Set(given.flatMap(([, id]) => id ?? []))];
    const table = tableOf(reference.to);
    const rows =
      ids.length === 0 || table === undefined
        ? []
        : await run(`select id from ${table} where id = any ($1::uuid[])`, [`{${ids.join(',')}}`]);
    known.set(reference.field, new Set(rows.map(({ id }) => String(id))));
  }
  return (record, reference) =>
    placesIn(record, reference).flatMap(([place, id]) =>
      known.get(reference.field)!.has(id ?? '') ? [] : [place],
    );
}

/** The places in a field that refer to records, each with its id; undefined: the value there is no id. */
function placesIn(
  record: JsonObject,
  { field, isList }: Reference,
): (readonly [place: string, id: string | undefined])[] {
  const value = member(record, field) ?? null;
  if (!isList) return value === null ? [] : [['', idOf(value)]];
  return Array.isArray(value) ? value.map((each, at) => [`/${at}`, idOf(each as Json)] as const) : [];
}

const idOf = (value: Json): string | undefined => (typeof value === 'string' ? parseUuid(value) : undefined);
