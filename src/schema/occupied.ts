import { RefusedError } from '../errors/exit-error.js';
import type { Catalog } from './catalog.js';
import { TRIGGERS } from './table-sql.js';

/** The error of something else in the database under the name of a collection. */
const occupied = (name: string, kind: string) =>
  new RefusedError(
    `the ${kind} ${name} of the database is no collection: give the collection another name, or rename the ${kind}`,
  );

/** Whether a table is that of a collection: of a declaration that was applied, or with the triggers that only this program makes. */
export function isCollection(name: string, { tables, applied }: Catalog): boolean {
  const table = tables.get(name);
  if (table === undefined) return false;
  return applied.has(name) || TRIGGERS.every((suffix) => table.triggers.has(`${name}_${suffix}`));
}

/** Throws RefusedError if a table belongs to another program. */
export function requireCollection(name: string, catalog: Catalog): void {
  if (!isCollection(name, catalog)) throw occupied(name, 'table');
}

/** Throws RefusedError if something else than a table has the name of a new collection, for example an index of another one. */
export function requireFreeName(name: string, catalog: Catalog): void {
  const other = catalog.occupied.find((each) => each.name === name);
  if (other) throw occupied(name, other.kind);
}
