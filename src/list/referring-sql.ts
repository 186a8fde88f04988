import { LINKED_RECORD } from '../collection/column.js';
import type { Resource } from '../collection/resource.js';

/** Where the links of an array of references are; undefined: the column has one id. */
const linksOf = ({ columns }: Resource, column: string): string | undefined =>
  [...columns.values()].find(({ name }) => name === column)?.links;

/** The records among a source that refer by a column to `given.id`, in the order of the index. `records` has no conditions. */
export function referringSql(resource: Resource, column: string, records: string): string {
  const links = linksOf(resource, column);
  if (links === undefined) return `${records} where record.${column} = given.id`;
  // A column that the caller may not read has no value.
  return `${links} as link join ${records} on record.id = link.${LINKED_RECORD}
    where link.${column} = given.id and record.${column} is not null`;
}

/** The records among a source that refer by a column to one of $1, each with the one to which it refers. */
export function pairsSql(resource: Resource, column: string, records: string): string {
  const links = linksOf(resource, column);
  if (links === undefined)
    return `select record.${column} as parent, record.id from ${records} where record.${column} = any ($1::uuid[])`;
  return `select link.${column} as parent, record.id from ${links} as link join ${records} on record.id = link.${LINKED_RECORD}
    where link.${column} = any ($1::uuid[]) and record.${column} is not null`;
}
