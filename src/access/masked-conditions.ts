import type { Resource } from '../collection/resource.js';
import { type Condition, OWN_COLUMNS } from '../list/condition.js';

/** A condition that never holds. */
const NEVER: Condition = { kind: 'or', conditions: [] };

/** A condition on records of which only some fields are visible: the others are absent. */
export function maskedCondition(
  condition: Condition,
  resource: Resource,
  visible: ReadonlySet<string>,
): Condition {
  switch (condition.kind) {
    case 'comparison':
      return OWN_COLUMNS.has(condition.field) || visible.has(condition.field) ? condition : absent(condition);
    case 'relation': {
      const { own } = condition;
      const field = own && [...resource.columns].find(([, { name }]) => name === own.name)?.[0];
      return field === undefined || visible.has(field) ? condition : NEVER;
    }
    default:
      return {
        ...condition,
        conditions: condition.conditions.map((each) => maskedCondition(each, resource, visible)),
      };
  }
}

/** A field that is absent is null, and fulfils no other comparison. */
const absent = (condition: Extract<Condition, { kind: 'comparison' }>): Condition =>
  condition.operator === 'null' && condition.values[0] === 'true' ? { kind: 'and', conditions: [] } : NEVER;
