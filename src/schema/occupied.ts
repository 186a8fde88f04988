import { ExitError } from '../errors/exit-error.js';
import type { Catalog } from './catalog.js';
import { TRIGGERS } from './table-sql.js';

/** The database has something else under the name of a collection. */
export class OccupiedError extends ExitError {
  override readonly exitCode = 78;

  constructor(name: string, kind: string) {
    super(
      `the ${kind} ${name} of the database is no collection: give the collection another name, or rename the ${kind}`,
    );
  }
}

/** Whether a table is that of a collection: of a declaration that was applied, or with the triggers that only this program makes. */
export function isCollection(name: string, { tables, applied }: Catalog): boolean {
  const table = tables.get(name);
  if (table === undefined) return false;
  return applied.has(name) || TRIGGERS.every((suffix) => table.triggers.has(`${name}_${suffix}`));
}

/** Throws OccupiedError if a table belongs to another program. */
export function requireCollection(name: string, catalog: Catalog): void {
  if (!isCollection(name, catalog)) throw new OccupiedError(name, 'table');
}

/** Throws OccupiedError if something else than a table has the name of a new collection, for example an index of another one. */
export function requireFreeName(name: string, { occupied }: Catalog): void {
  const other = occupied.find((each) => each.name === name);
  if (other) throw new OccupiedError(name, other.kind);
}
