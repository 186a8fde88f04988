import type { CheckedPlan } from './migrate-collections.js';
import { violationText } from './migrate-collections.js';
import type { Step } from './step.js';

/** A plan as SQL with comments: what each step does, what it locks, and what it loses. */
export function planText({ steps, drops, violations }: CheckedPlan): string {
  const violating = violations.filter(({ violating }) => violating > 0).map(violationText);
  const parts = [
    ...violating.map((text) => text.replace(/^/gm, '-- ')),
    ...steps.map((step, index) => stepText(step, index + 1)),
    ...drops.map((step) => `-- Only with --allow-drop. ${stepText(step, undefined)}`),
  ];
  return parts.length === 0 ? '-- The database matches the declarations.\n' : `${parts.join('\n\n')}\n`;
}

function stepText(
  { title, locks, sql, work, loses, isConcurrent }: Step,
  number: number | undefined,
): string {
  const heading = `${number === undefined ? '' : `${number}. `}${title}. Locks ${locks}.${loses === undefined ? '' : ` Loses ${loses}.`}`;
  const lines = [`-- ${heading.replace(/^-- /, '')}`];
  if (work?.kind === 'fill') lines.push('-- (The service computes the values, as for a request.)');
  const isTransaction = !isConcurrent && sql.length > 1;
  return [
    ...lines,
    ...(isTransaction ? ['begin;'] : []),
    ...sql.map((text) => `${text};`),
    ...(isTransaction ? ['commit;'] : []),
  ].join('\n');
}
