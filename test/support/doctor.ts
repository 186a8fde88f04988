import type { Check } from '../../src/features/doctor/check.js';
import { plinth } from './command.js';
import type { Test } from './test.js';

/** Runs `plinth doctor`, whose exit code must fit its results. */
export async function doctor(
  t: Test,
  env: Record<string, string>,
): Promise<{ code: unknown; checks: Check[] }> {
  const { code, out, err } = await plinth(t, ['doctor', '--json'], { PORT: '0', ...env });
  t.equal(err, '');
  const checks = JSON.parse(out) as Check[];
  t.ok(checks.every(({ status, advice }) => (status === 'ok') === (advice === null)));
  t.equal(code, checks.some(({ status }) => status === 'problem') ? 1 : 0, 'the exit code');
  return { code, checks };
}

/** The subject of the check. */
export const namesOf = (checks: readonly Check[]) => [...new Set(checks.map(({ check }) => check))];

/** The checks that are not ok. */
export const faultsOf = (checks: readonly Check[]) =>
  checks
    .filter(({ status }) => status !== 'ok')
    .map(({ check, status, message, advice }) => `${check} ${status}: ${message}; ${advice}`);
