import { type ComparedColumn, LIST_OPERATORS, MAX_VALUES, type Operator } from '../list/condition.js';

import type { Schema } from './schema.js';

/** The schema of what an operator of filters compares a field with. */
export function operandSchema(operator: Operator, column: ComparedColumn): Schema {
  const value = valueSchema(column);
  if (operator === 'between') return { type: 'array', items: value, minItems: 2, maxItems: 2 };
  if (LIST_OPERATORS.has(operator)) return { type: 'array', items: value, minItems: 1, maxItems: MAX_VALUES };
  if (operator === 'null') return { type: 'boolean' };
  return operator === 'prefix' || operator === 'contains' ? { type: 'string' } : value;
}

/** The schema of a value of a field, as filters have it. */
export function valueSchema({ type, format }: ComparedColumn): Schema {
  const plain = type.replace('[]', '');
  if (plain === 'double precision') return { type: 'number' };
  if (plain === 'boolean') return { type: 'boolean' };
  if (plain === 'uuid') return { type: 'string', format: 'uuid' };
  return format === undefined ? { type: 'string' } : { type: 'string', format };
}
