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
  /** The effect on the records of each collection that has a table. */
  readonly changes: readonly Change[];
  /** The names of the tables after the steps, by the collections. */
  readonly tables: ReadonlyMap<string, string>;
  /** The collections that change in a window. */
  readonly fenced: readonly string[];
}

/** The plan for a database, and the stored records that violate new rules. */
export interface CheckedPlan extends Plan {
  readonly violations: readonly Violations[];
}

/** The permissions of the operator for a migration. */
export interface MigrateAllowances {
  /** Whether steps that lose data run too, after which the records are compared. */
  readonly allowDrop?: boolean | undefined;
  /** Whether records that violate the declarations stay as they are. */
  readonly allowViolations?: boolean | undefined;
}

/** Whether stored records violate the declarations of a plan. */
const isViolated = ({ violations }: Pick<CheckedPlan, 'violations'>): boolean =>
  violations.some(({ violating }) => violating > 0);

/** Whether stored records prevent a plan. Equal values that must be unique always do: no index permits them. */
export const isRefused = (
  plan: Pick<CheckedPlan, 'violations'>,
  { allowViolations = false }: MigrateAllowances,
): boolean => (allowViolations ? duplicatesOf(plan) > 0 : isViolated(plan));

const duplicatesOf = ({ violations }: Pick<CheckedPlan, 'violations'>): number =>
  violations.reduce((sum, { duplicates }) => sum + duplicates, 0);

/** The rules that stored records violate, and the remedy. */
export function violationsText(plan: CheckedPlan): string {
  const { violations, changes } = plan;
  const found = violations.filter(({ violating }) => violating > 0);
  const paragraphs = found.map(
    ({ collection, records, violating, examples }) =>
      `${violating} of ${records} records of ${collection} violate the declaration:\n${examples.map((text) => `  ${text}`).join('\n')}`,
  );
  const forbidden = changes
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

/** A plan as SQL with comments: what each step does, what it locks, and what it loses. */
export function planText(plan: CheckedPlan): string {
  const { steps, drops } = plan;
  const parts = [
    ...(isViolated(plan) ? [violationsText(plan).replace(/^/gm, '-- ')] : []),
    ...(isViolated(plan) && plan.sqlFiles > 0
      ? ['-- The records are checked again after the SQL files.']
      : []),
    ...steps.map((step, index) => stepText(step, index + 1)),
    ...(steps.length === 0 && !isViolated(plan) ? ['-- The database matches the declarations.'] : []),
    ...drops.map((step) => `-- Only with --allow-drop. ${stepText(step, undefined)}`),
  ];
  return `${parts.join('\n\n')}\n`;
}

function stepText(
  { title, locks, sql, work, loses, isConcurrent }: SchemaStep,
  number: number | undefined,
): string {
  const heading = `${number === undefined ? '' : `${number}. `}${title}. Locks ${locks}.${loses === undefined ? '' : ` Loses ${loses}.`}`;
  const lines = [`-- ${heading.replace(/^-- /, '')}`];
  if (work)
    lines.push(
      `-- (The program changes the ${work.kind === 'fill' ? 'columns' : 'documents'}, before these statements.)`,
    );
  const isTransaction = !isConcurrent && sql.length > 1;
  return [
    ...lines,
    ...(isTransaction ? ['begin;'] : []),
    ...sql.map((text) => `${text};`),
    ...(isTransaction ? ['commit;'] : []),
  ].join('\n');
}
