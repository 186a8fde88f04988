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
    const fault = (pointer: string, reason: string) => ({
      file: declarations[at]!.file,
      pointer,
      reason: `on Citus ${reason}`,
    });
    const numbers = resource.numbers.map(({ field }) =>
      fault(`/properties/${escapeToken(field)}/x-set`, 'there are no numbers: no shard has all records'),
    );
    const parent = shardColumn(resource);
    const columnsOf = (fields: readonly string[]) => fields.map((field) => resource.columns.get(field)!.name);
    const keys = resource.unique.filter(({ fields }) => fields.length > 1);
    const words = resource.words.map((field) =>
      fault(`/properties/${escapeToken(field)}/x-search`, 'a search finds parts of fields, and no words'),
    );
    const lists = Object.entries(declarations[at]!.schema.properties).flatMap(([field, rules]) => {
      const reference = declaredReference(rules);
      return reference?.isList
        ? fault(
            `/properties/${escapeToken(field)}${reference.at}/x-references`,
            'an array refers to no records: no shard has all records that it names. Declare a collection whose records refer to both',
          )
        : [];
    });
    return [
      ...words,
      ...lists,
      ...(resource.hasClientIds ? [fault('/x-collection/ids', 'clients cannot choose ids')] : []),
      ...(resource.hasHistory
        ? [fault('/x-collection/history', 'events do not store the record before a change')]
        : []),
      ...numbers,
      ...keys.flatMap(({ fields }, index) => {
        if (parent === undefined)
          return fault(
            `/x-collection/unique/${index}`,
            'only the records of one parent are in one shard: such a collection is nested, and each record has a parent',
          );
        return columnsOf(fields).includes(parent)
          ? []
          : fault(
              `/x-collection/unique/${index}`,
              `a key needs ${resource.parent!.field}, which decides the shard of a record`,
            );
      }),
    ];
  });
  if (faults.length > 0) throw new DeclarationError(faults);
}
