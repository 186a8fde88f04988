import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { startNode } from './process.js';

/** The file of the command `plinth`. */
export const COMMAND = fileURLToPath(new URL('../../src/cli/plinth.js', import.meta.url));

export interface Ended {
  readonly code: number | string;
  readonly out: string;
  readonly err: string;
}

/** Runs `plinth` to its end. */
export async function plinth(
  t: Test,
  args: readonly string[],
  env: Record<string, string> = {},
  { cwd, input }: { cwd?: string; input?: string } = {},
): Promise<Ended> {
  const { ended, stdout, stderr } = startNode(t, [COMMAND, ...args], env, cwd, input);
  return { code: await ended, out: stdout(), err: stderr() };
}

/** The one JSON document that `plinth` prints. */
export async function documentOf(
  t: Test,
  args: readonly string[],
  env: Record<string, string> = {},
  options: { cwd?: string; input?: string } = {},
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into it as it likes
): Promise<any> {
  const { code, out, err } = await plinth(t, [...args, '--json'], env, options);
  t.same([code, err], [0, ''], args.join(' '));
  t.ok(out.endsWith('\n'));
  return JSON.parse(out);
}
