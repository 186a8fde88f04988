import { hashedReply } from '../collection/representation.js';
import { csvHeader, csvRow } from '../formats/csv.js';
import { CSV_TYPE, NDJSON_TYPE } from '../http/media-types.js';
import type { Conditions } from '../http/preconditions.js';
import type { Lines, Reply } from '../http/reply.js';
import { MAX_TARGET } from '../http/router.js';
import { type JsonObject, member, setMember } from '../json.js';
import { ofDocument } from '../limits/turn.js';
import type { Collection } from '../list/open-collection.js';
import type { View } from '../list/read-fields-and-includes.js';

/** The collection of a list. */
type Listed = Pick<Collection, 'resource'>;

/** Whether a list of this type has a line for each record. */
export const isLines = (type: string): boolean => type === CSV_TYPE || type === NDJSON_TYPE;

/** The lines of a list; `isShown`: of documents that have only what the query asks for. */
export function linesOf(type: string, listed: Listed, view: View, isShown = false): Lines {
  const { fields } = view;
  if (type === CSV_TYPE) {
    const columns = columnsOf(listed, view);
    const row = (record: JsonObject) => csvRow(record, columns);
    return { header: csvHeader(columns), lineOf: (doc) => ofDocument(doc, row) };
  }
  if (fields === undefined || isShown) return { header: '' };
  const lineOf = (record: JsonObject) => `${JSON.stringify(only(record, fields))}\n`;
  return { header: '', lineOf: (doc) => ofDocument(doc, lineOf) };
}

/** A page as lines: 200, 304 or 412. Its links and its total are header fields. */
export function linesPage(
  type: string,
  listed: Listed,
  records: readonly JsonObject[],
  view: View,
  more: readonly string[],
  conditions: Conditions | undefined,
): Reply {
  const columns = type === NDJSON_TYPE ? undefined : columnsOf(listed, view);
  const lineOf = (record: JsonObject) => (columns ? csvRow(record, columns) : `${JSON.stringify(record)}\n`);
  const header = columns ? csvHeader(columns) : '';
  return hashedReply(type, header + records.map(lineOf).join(''), conditions, { more });
}

/** The paths of the pages around a page by their relations; null: there is none. */
export type Links = Readonly<Record<string, string | null>>;

/** Link (RFC 8288), and X-Total-Count if the total is known. */
export function pageFields(links: Links, total?: number): readonly string[] {
  const link = linkField(links);
  return [
    ...(link === '' ? [] : ['Link', link]),
    ...(total === undefined ? [] : ['X-Total-Count', String(total)]),
  ];
}

/** Relations in the order in which a field that is too long loses them: first those that a client can make itself. */
const REMOVAL_ORDER = ['self', 'first', 'last', 'prev', 'next'];

/** The value of Link (RFC 8288). It has at most as many characters as an address: clients limit header fields. */
function linkField(links: Links): string {
  const given = Object.entries(links).filter(([, path]) => path !== null);
  const all = new Map(given.map(([relation, path]) => [relation, `<${path}>; rel="${relation}"`]));
  const field = () => [...all.values()].join(', ');
  for (const relation of REMOVAL_ORDER) if (field().length > MAX_TARGET) all.delete(relation);
  return field();
}

const LAST_COLUMNS = ['created_at', 'updated_at', '_version'];

/**
 * The columns of CSV, which do not depend on the records: the id, the declared fields, and the service's; or the id and the fields that
 * a query names.
 */
export function columnsOf({ resource: { schema, writeOnly } }: Listed, view: View): string[] {
  const hidden = new Set([...writeOnly, 'password', 'password_hash', 'current_password']);
  const declared = Object.keys(schema.properties).filter((name) => !hidden.has(name));
  const fields = view.fields ?? [...declared, ...LAST_COLUMNS];
  const included = view.include.length === 0 ? [] : ['_included'];
  const excerpts = view.excerpts ? ['_excerpts'] : [];
  return [...new Set(['id', ...fields, ...included, ...excerpts])];
}

/** The id and the named fields, in the order of the record. */
export function only(record: JsonObject, fields: readonly string[]): JsonObject {
  const result: JsonObject = {};
  for (const name of Object.keys(record))
    if (name === 'id' || fields.includes(name)) setMember(result, name, member(record, name)!);
  return result;
}
