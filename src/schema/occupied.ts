import { qualified } from '../db/object-names.js';
import { ExitError } from '../errors/exit-error.js';
import type { Catalog } from './catalog.js';
import { primaryKeyOf } from './chosen-names.js';
import { lockTable, type SchemaStep, step } from './step.js';
import type { Table } from './table.js';
import { TRIGGERS } from './table-sql.js';

/** The database has something else under the name of a collection. */
export class OccupiedError extends ExitError {
  override readonly exitCode = 78;

  constructor(name: string, kind: string) {
    super(
      `the database has a ${kind} ${name} that does not belong to a collection: give the collection another name, or rename the ${kind}`,
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

/**
 * Gives the index of a collection that has the name of a new one its distinct name. Throws OccupiedError for anything else that
 * has it. `known`: the tables of the declarations, and of those before.
 */
export function makeWay(name: string, catalog: Catalog, known: readonly Table[]): SchemaStep[] {
  return catalog.occupied
    .filter((each) => each.name === name)
    .map(({ kind, table: owner }) => {
      const names = known
        .filter((table) => table.name === owner && isCollection(table.name, catalog))
        .flatMap((table) => [primaryKeyOf(table.name), ...table.indexes.map((index) => index.name)]);
      const found = names.find(({ all }) => all.includes(name));
      if (owner === null || !found) throw new OccupiedError(name, kind);
      return step(
        `Rename the index ${name} of ${owner}, since a collection gets its name`,
        lockTable(owner),
        [`alter index ${qualified(catalog.schema, name)} rename to ${found.distinct}`],
      );
    });
}
