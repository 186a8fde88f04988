import type { Resource } from '../collection/resource.js';
import type { Engine } from '../database-url/engine.js';
import type { Value } from '../db/db.js';
import { type Parameter, parametersIn } from './comparison-sql.js';
import { type Access, EVERYTHING } from './condition.js';
import { accessibleSql, recordsSql } from './condition-sql.js';
import { referringSql } from './record-source.js';

/** The name of a statement, and its parts. */
interface Referring {
  readonly name: 'referring' | 'referring_readable';
  readonly parts: Readonly<Record<string, string>>;
}

/** The statement that reads the records which refer to some by a column. `args` gets the values that the caller's conditions have. */
export function referringParts(
  resource: Resource,
  engine: Engine,
  column: string,
  args: Value[],
  access: Access | undefined,
): Referring {
  if (!engine.correlates && access) return readableReferring(resource, engine, column, args, access);
  const parameter = parametersIn(args);
  const all = recordsSql(resource, { ...EVERYTHING, access }, parameter, engine);
  const records = referringSql(resource, column, all);
  const source = accessibleSql(resource, 'record', access, parameter, engine);
  return { name: 'referring', parts: { records, source, column } };
}

/** On Citus one query for each id, about values of which the first is the id: no table is joined by another column than its own. */
function readableReferring(
  resource: Resource,
  engine: Engine,
  column: string,
  args: Value[],
  access: Access,
): Referring {
  const outer = parametersIn(args);
  const values = ['given.id::text'];
  const parameter: Parameter = (value, type = 'text') => `($1)[${values.push(outer(value))}]::${type}`;
  const all = recordsSql(resource, { ...EVERYTHING, access }, parameter, engine);
  const records = `${all} where record.${column} = ($1)[1]::uuid`;
  return { name: 'referring_readable', parts: { records, values: `array[${values.join(', ')}]` } };
}
