import { qualified } from '../db/object-names.js';
import { MOVED } from './catalog.js';
import type { LinkedTable } from './removed-ids.js';

/**
 * Leaves a fence under a name that a table had: a view whose every use fails with SQLSTATE 55000, so that services with the
 * former declaration respond 503. It also prevents that such a service creates the table again.
 */
export const fence = (
  { name, schema }: Pick<LinkedTable, 'name' | 'schema'>,
  former: string,
  columns: Iterable<readonly [name: string, type: string]>,
): string[] => [
  `create view ${qualified(schema, former)} as select ${[...columns].map(([column, type]) => `null::${type} as ${column}`).join(', ')} where plinth_moved('${name}')`,
  `comment on view ${qualified(schema, former)} is '${MOVED}${name}'`,
];
