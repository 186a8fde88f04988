import { createHash } from 'node:crypto';
import { quotedName } from './statements.js';

/** Bytes of a name in PostgreSQL, which cuts longer names. */
const MAX_NAME_BYTES = 63;

const HASH_LENGTH = 12;

/** The name of an object that belongs to a collection's table: an index, a constraint, a trigger or a function. */
export interface ObjectName {
  /** The parts without the table. */
  readonly parts: readonly string[];
  /** Its parts if they fit, otherwise `distinct`. Objects of two tables can have one: `a_b` of `c`, and `a` of `b_c`. */
  readonly plain: string;
  /** No other object's name: it has a hash of the parts. */
  readonly distinct: string;
  /** Every name that the object may have in a database, also from versions that let PostgreSQL cut it. */
  readonly all: readonly string[];
}

/** Makes the name of an object from its table and from what it is about: the column, and a suffix for its kind. */
export function objectName(table: string, ...parts: readonly string[]): ObjectName {
  const whole = [table, ...parts].filter((part) => part !== '').join('_');
  const hash = createHash('sha256')
    .update(JSON.stringify([table, ...parts]))
    .digest('hex')
    .slice(0, HASH_LENGTH);
  const distinct = `${firstBytes(whole, MAX_NAME_BYTES - 1 - HASH_LENGTH)}_${hash}`;
  const cut = firstBytes(whole, MAX_NAME_BYTES);
  const plain = whole === cut ? whole : distinct;
  return { parts, plain, distinct, all: [...new Set([plain, distinct, whole, cut])] };
}

/** The characters of a text that fit some bytes of UTF-8. */
function firstBytes(text: string, bytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytes));
  return text.slice(0, read);
}

/** The constraint or index that enforces the unique values of columns. */
export const uniqueName = (table: string, columns: readonly string[]): ObjectName =>
  objectName(table, ...columns, 'key');

/** The constraint of a reference. */
export const referenceName = (table: string, column: string): ObjectName => objectName(table, column, 'fkey');

/** The table with the ids in an array of references, with the functions and triggers that write it. No collection has such a name. */
export const linksName = (table: string, column: string, ...parts: readonly string[]): string =>
  objectName(table, column, '$refs', ...parts).distinct;

/** The function, and its trigger, that removes a reference when the record that it names is deleted. */
export const nullName = (table: string, column: string): ObjectName =>
  objectName(table, column, 'fkey', 'null');

/** The table of a collection after so many windows. Another one of its names is that of no collection. */
export const tableName = (collection: string, windows: number): string =>
  windows === 0 ? collection : `${collection}$${windows + 1}`;

/** The collection of a table. */
export const collectionOf = (table: string): string => table.replace(/\$\d+$/, '');

/** The schema for the tables of collections of a service whose own tables are in `schema`. */
export const collectionsSchemaOf = (schema: string): string => objectName(schema, COLLECTIONS).plain;

const COLLECTIONS = 'collections';

/** The name of a table, an index, a view or a function of a collection in statements, wherever they run. */
export const qualified = (schema: string, name: string): string => `${quotedName(schema)}.${name}`;
