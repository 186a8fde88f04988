import type { Resource } from '../collection/resource.js';
import type { Run } from '../db/db.js';
import { DatabaseError } from '../db/migrate.js';
import { qualified } from '../db/object-names.js';
import type { Declaration, DeclarationFault } from '../declarations/declaration.js';
import { DeclarationError } from '../declarations/read-declarations.js';
import type { Catalog } from './catalog.js';
import { presentIndex } from './names.js';
import { quoted } from './step.js';
import { tableOf } from './table.js';

/** Throws DeclarationError for what a Citus cluster cannot ensure, since no shard has all records. */
export function requireInShards(
  declarations: readonly Declaration[],
  resources: readonly Resource[],
  catalog: Catalog,
): void {
  if (catalog.engine !== 'citus') return;
  const faults = resources.flatMap((resource, at): DeclarationFault[] => {
    const fault = (pointer: string, reason: string) => ({
      file: declarations[at]!.file,
      pointer: `/x-collection/${pointer}`,
      reason: `on Citus ${reason}`,
    });
    const parent = tableOf(resource, catalog).distribution?.parent;
    const columnsOf = (fields: readonly string[]) => fields.map((field) => resource.columns.get(field)!.name);
    const keys = resource.unique.filter(({ fields }) => fields.length > 1);
    return [
      ...(resource.hasClientIds ? [fault('ids', 'clients cannot choose ids')] : []),
      ...keys.flatMap(({ fields }, index) => {
        if (parent === undefined)
          return fault(
            `unique/${index}`,
            'only the records of one parent are in one shard: such a collection is nested, and each record has a parent',
          );
        return columnsOf(fields).includes(parent)
          ? []
          : fault(
              `unique/${index}`,
              `a key needs ${resource.parent!.field}, which decides the shard of a record`,
            );
      }),
    ];
  });
  if (faults.length > 0) throw new DeclarationError(faults);
}

/** Throws DatabaseError if stored records have equal values of a new key of several fields, which no index permits. */
export async function requireUniqueKeys(
  run: Run,
  resources: Iterable<Resource>,
  declarations: readonly Declaration[],
  catalog: Catalog,
): Promise<void> {
  const found: string[] = [];
  for (const resource of resources) {
    const { schema } = declarations.find(({ name }) => name === resource.name)!;
    const name = [resource.name, schema['x-collection']?.was ?? ''].find((each) => catalog.tables.has(each));
    if (name === undefined) continue;
    const existing = catalog.tables.get(name)!;
    const { indexes } = tableOf({ ...resource, name }, catalog);
    for (const [at, { fields }] of resource.unique.entries()) {
      if (fields.length === 1 || presentIndex(existing, indexes[at]!) !== undefined) continue;
      const values = fields.map((field) => storedValue(field, schema.properties[field]?.['x-was']));
      const rows = await run(equalKeys(qualified(catalog.schema, name), values), []);
      for (const { first, second } of rows)
        found.push(`  ${resource.name}: ${second} has the ${fields.join(' and ')} of ${first}`);
    }
  }
  if (found.length > 0)
    throw new DatabaseError(
      `stored records violate a new unique key, which no option permits:\n${found.join('\n')}\nChange or delete all but one of them, by requests or in a file of DATA_CHANGES.`,
    );
}

/** The SQL of a stored value, also by the former name of its field. */
const storedValue = (field: string, was: string | undefined): string => {
  const member = (name: string) => `doc::json ->> ${quoted(name)}`;
  return was === undefined ? `(${member(field)})` : `coalesce(${member(field)}, ${member(was)})`;
};

const equalKeys = (table: string, values: readonly string[]): string => `
  select ids[1]::text as first, ids[2]::text as second
  from (
    select (array_agg(id order by id))[1:2] as ids
    from ${table}
    where ${values.map((value) => `${value} is not null`).join(' and ')}
    group by ${values.map((value) => `${value} collate "C"`).join(', ')}
    having count(*) > 1
    order by min(id::text)
    limit 3
  ) as equal_keys`;
