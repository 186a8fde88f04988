import { type CheckedPlan, isViolated, violationsText } from './checked-plan.js';
import type { SchemaStep } from './step.js';

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
