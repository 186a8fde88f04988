import { type Resource, shardColumn } from '../collection/resource.js';
import type { Engine } from '../database-url/engine.js';
import type { Declaration, DeclarationFault } from '../declarations/declaration.js';
import { declaredReference } from '../declarations/declared-column.js';
import { DeclarationError } from '../declarations/read-declarations.js';
import { escapeToken } from '../json.js';

/** Throws DeclarationError for what a Citus cluster cannot ensure, since no shard has all records. */
export function requireInShards(
  declarations: readonly Declaration[],
  resources: readonly Resource[],
  engine: Engine,
): void {
  if (!engine.isDistributed) return;
  const faults = resources.flatMap((resource, at): DeclarationFault[] => {
    const { file, schema } = declarations[at]!;
    return [...faultsOf(resource, schema)].map(([pointer, reason]) => ({
      file,
      pointer,
      reason: `on Citus ${reason}`,
    }));
  });
  if (faults.length > 0) throw new DeclarationError(faults);
}

function* faultsOf(
  resource: Resource,
  { properties }: Declaration['schema'],
): Generator<readonly [pointer: string, reason: string]> {
  const { words, numbers, unique, columns, hasClientIds, hasHistory, invited } = resource;
  const of = (field: string, keyword: string) => `/properties/${escapeToken(field)}${keyword}`;
  for (const field of words) yield [of(field, '/x-search'), 'a search finds parts of fields, and no words'];
  for (const [field, rules] of Object.entries(properties))
    if (declaredReference(rules)?.isList)
      yield [
        of(field, '/items/x-references'),
        'an array refers to no records: no shard has all records that it names. Declare a collection whose records refer to both',
      ];
  if (hasClientIds) yield ['/x-collection/ids', 'clients cannot choose ids'];
  if (hasHistory) yield ['/x-collection/history', 'events do not store the record before a change'];
  if (invited !== undefined)
    yield ['/x-collection/invite', 'an invitation would not end when the record of the person is deleted'];
  for (const { field } of numbers)
    yield [of(field, '/x-set'), 'there are no numbers: no shard has all records'];
  const parent = shardColumn(resource);
  const keys = unique.filter(({ fields }) => fields.length > 1);
  for (const [index, { fields }] of keys.entries())
    if (parent === undefined)
      yield [
        `/x-collection/unique/${index}`,
        'only the records of one parent are in one shard: such a collection is nested, and each record has a parent',
      ];
    else if (!fields.some((field) => columns.get(field)!.name === parent))
      yield [
        `/x-collection/unique/${index}`,
        `a key needs ${resource.parent!.field}, which decides the shard of a record`,
      ];
}
