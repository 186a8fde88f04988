import type { Change } from './field-work.js';
import type { SchemaStep } from './step.js';
import type { Violations } from './violations.js';

/** The steps that bring a database in line with declarations. */
export interface Plan {
  /** Steps that lose nothing and disturb no service with the former declarations, in order. */
  readonly steps: readonly SchemaStep[];
  /** How many of them, at the beginning, run SQL files. The stored records are checked after these. */
  readonly sqlFiles: number;
  /** Steps that lose data, or what only services with former declarations use. The service runs without them. */
  readonly drops: readonly SchemaStep[];
  /** Collections with stored records that the declaration may not describe: these are checked before the steps. */
  readonly changed: readonly Change[];
  /** Collections with records that services with a former declaration may have written since: the drops repeat work for these. */
  readonly repeated: readonly Change[];
  /** Fields that are no longer declared, by collection. */
  readonly dropped: ReadonlyMap<string, readonly string[]>;
}

/** The plan for a database, and the stored records that violate new rules. */
export interface CheckedPlan extends Plan {
  readonly violations: readonly Violations[];
}

/** Whether stored records violate the declarations of a plan. */
export const isViolated = ({ violations }: Pick<CheckedPlan, 'violations'>): boolean =>
  violations.some(({ violating }) => violating > 0);

/** Whether stored records prevent a plan. Equal values that must be unique always do: no index permits them. */
export const isRefused = (plan: Pick<CheckedPlan, 'violations'>, allowViolations = false): boolean =>
  allowViolations ? duplicatesOf(plan) > 0 : isViolated(plan);

const duplicatesOf = ({ violations }: Pick<CheckedPlan, 'violations'>): number =>
  violations.reduce((sum, { duplicates }) => sum + duplicates, 0);

/** The rules that stored records violate, and the remedy. */
export function violationsText(plan: CheckedPlan): string {
  const { violations, changed } = plan;
  const found = violations.filter(({ violating }) => violating > 0);
  const paragraphs = found.map(
    ({ collection, records, violating, examples }) =>
      `${violating} of ${records} records of ${collection} violate the declaration:\n${examples.map((text) => `  ${text}`).join('\n')}`,
  );
  const forbidden = changed
    .filter(({ name }) => found.some(({ collection }) => collection === name))
    .flatMap(({ name, prunes }) =>
      prunes.flatMap((work) => (work.kind === 'prune' ? work.fields.map((field) => `${name}.${field}`) : [])),
    );
  const removal =
    forbidden.length === 0
      ? ''
      : ` --allow-drop removes the values of ${forbidden.join(', ')}, which the declaration forbids.`;
  const duplicates = duplicatesOf(plan);
  const remedy = [
    ...(found.some((each) => each.violating > each.duplicates)
      ? [' Correct them, or let them stay with --allow-violations.']
      : []),
    ...(duplicates > 0
      ? [' Of records with equal unique values only one can stay as it is: change or delete the others.']
      : []),
  ].join('');
  return [...paragraphs, `\`plinth migrate --violations\` lists every such record.${remedy}${removal}`].join(
    '\n',
  );
}
