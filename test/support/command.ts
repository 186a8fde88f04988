import { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { run } from '../../src/cli/run.js';
import { FEATURES } from '../../src/features.js';
import { BUNDLED, environment, type ServiceProcess, startNode } from './process.js';
import type { Test } from './test.js';

/** The file of the command `plinth`. */
export const COMMAND = BUNDLED ?? fileURLToPath(new URL('../../src/cli/plinth.js', import.meta.url));

export interface Ended {
  readonly code: number | string;
  readonly out: string;
  readonly err: string;
}

/** The modules that run a command: `src/cli/run.ts` and `src/features.ts`. */
export interface Program {
  readonly run: typeof run;
  readonly FEATURES: typeof FEATURES;
}

interface Given {
  readonly cwd?: string;
  /** The standard input; absent: it is empty. */
  readonly input?: string | Buffer;
  /** Another copy of the program than that of this process. */
  readonly program?: Program;
}

/** Runs `plinth` in this process to its end, with nothing in its environment but `env`. */
export async function plinth(
  _t: Test,
  args: readonly string[],
  env: Record<string, string> = {},
  { cwd, input, program = { run, FEATURES } }: Given = {},
): Promise<Ended> {
  const [stdout, stderr] = [new Captured(), new Captured()];
  const code = await program.run(args, {
    features: program.FEATURES,
    stdin: Readable.from(input === undefined ? [] : [Buffer.from(input)]),
    stdout,
    stderr,
    env: environment(env),
    ...(cwd === undefined ? {} : { cwd }),
  });
  return { code, out: stdout.text, err: stderr.text };
}

/** Starts `plinth` as a process: for signals, pipes, terminals, and the service. */
export function startPlinth(
  t: Test,
  args: readonly string[],
  env: Record<string, string> = {},
  { cwd, input }: Given = {},
): ServiceProcess {
  return startNode(t, [COMMAND, ...args], env, cwd, input);
}

/** Runs `plinth` as a process to its end: for starts of the service that fail, and exit codes of processes. */
export async function plinthProcess(...started: Parameters<typeof startPlinth>): Promise<Ended> {
  const { ended, stdout, stderr } = startPlinth(...started);
  return { code: await ended, out: stdout(), err: stderr() };
}

/** An output that stores what is written. */
class Captured extends Writable {
  readonly #chunks: Buffer[] = [];

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#chunks.push(chunk);
    done();
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString();
  }
}

/** The one JSON document that `plinth` prints. */
export async function documentOf(
  t: Test,
  args: readonly string[],
  env: Record<string, string> = {},
  given: Given = {},
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into it as it likes
): Promise<any> {
  const { code, out, err } = await plinth(t, [...args, '--json'], env, given);
  t.same([code, err], [0, ''], args.join(' '));
  t.ok(out.endsWith('\n'));
  return JSON.parse(out);
}
