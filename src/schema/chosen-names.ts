import { type ObjectName, objectName } from '../db/object-names.js';
import type { ExistingTable } from './catalog.js';
import type { Index, Table } from './table.js';

/** Chooses the name with which an object is created. */
export type ChooseName = (name: ObjectName) => string;

/** The plain names, except for those that several objects of these tables would have. */
export function namesIn(tables: readonly Table[]): ChooseName {
  const claims = new Map<string, number>();
  const claim = (name: string) => void claims.set(name, (claims.get(name) ?? 0) + 1);
  for (const { name, indexes, foreignKeys } of tables) {
    claim(name);
    for (const { plain } of [primaryKeyOf(name), ...indexes.map((each) => each.name)]) claim(plain);
    for (const { nullName } of foreignKeys) claim(nullName.plain);
  }
  return ({ plain, distinct }) => ((claims.get(plain) ?? 0) > 1 ? distinct : plain);
}

export const primaryKeyOf = (table: string): ObjectName => objectName(table, '', 'pkey');

/** The name by which the database has an index; undefined: it has none. */
export function presentIndex({ indexes }: ExistingTable, index: Index): string | undefined {
  const columns = index.columns.toSorted().join();
  return index.name.all.find((name) => {
    const found = indexes.get(name);
    return found?.isUnique === index.isUnique && found.columns.join() === columns;
  });
}

/** The name by which the database has a foreign key; undefined: it has none. */
export const presentKey = ({ foreignKeys }: ExistingTable, { all }: ObjectName): string | undefined =>
  all.find((name) => foreignKeys.has(name));
