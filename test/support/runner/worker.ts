import { join } from 'node:path';
import { cwd } from 'node:process';
import { setImmediate } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import root, { type Test } from 'tap';
import { isClockReal, stopwatch } from '../pause.js';
import { COPY } from '../renamed.js';
import * as tests from '../test.js';
import { disableStorages, rememberStorages } from './async-storages.js';
import { ofRunner } from './control.js';
import { cpuMs } from './cost.js';
import { collectFailures } from './failures.js';
import { ROOT, type TestFile } from './files.js';
import { NODE_OPTIONS } from './node-options.js';
import { endWithParent } from './parent.js';
import { failByUncaughtErrors } from './uncaught.js';

endWithParent();
failByUncaughtErrors(root);
rememberStorages();
// A process that ends by itself closes what it has, for which Node 24 once waited without end, with a processor of its own.
process.on('beforeExit', () => {
  if (root.results) process.exit();
});

/**
 * Runs test files in this process, one after the other, until the runner has no more: modules, validators and the contract
 * are loaded once. Files that change their process have one of their own.
 */
export async function runFiles(server: number): Promise<void> {
  process.env.PLINTH_TEST_SERVER = String(server);
  process.env.PLINTH_TEST_URL = process.env[`PLINTH_TEST_URL_${server}`];
  // One subtest for all files: tap ends its root as soon as that has nothing to do.
  await root.test(`worker ${server}`, { timeout: 0 }, async (t) => {
    for (;;) {
      const file = await ofRunner<TestFile | null>('/next');
      if (file === null) break;
      const elapsedMs = stopwatch();
      const cpuBeforeMs = cpuMs();
      const failures = await (file.needsProcess ? runApart(t, file) : runHere(t, file));
      disableStorages();
      const { name, needs } = file;
      await ofRunner('/finished', {
        name,
        server,
        ms: elapsedMs(),
        cpuMs: cpuMs() - cpuBeforeMs,
        failures,
        needs,
      });
    }
  });
  // The timer of this signal does not keep the process.
  AbortSignal.timeout(END_MS).addEventListener('abort', endAnyway);
}

/** How long a worker may take to end when its files have. */
const END_MS = 10_000;

/** Ends a process in which a test has left something open, mostly one that failed: the run would never end. */
function endAnyway(): void {
  process.stderr.write(`# a test has left open: ${process.getActiveResourcesInfo().join(', ')}\n`);
  process.exit();
}

/** Runs a file in a process of its own: one-file.ts. Resolves to its failures. */
async function runApart(t: Test, file: TestFile): Promise<readonly string[]> {
  const entry = join(ROOT, 'dist/test/support/runner/one-file.js');
  const options = ['--enable-source-maps', ...NODE_OPTIONS];
  const args = [...options, entry, JSON.stringify(file)];
  const running = t.spawn(process.execPath, args, { name: file.name, timeout: file.timeoutMs });
  const failures = collectFailures(running.subtest!);
  return outcome(await running, failures);
}

/** Runs a file in this process. Resolves to its failures. */
export async function runHere(
  t: Test,
  { name, path, timeoutMs, turn, needsProcess }: TestFile,
): Promise<readonly string[]> {
  let failures: readonly string[] = [];
  const results = await t.test(name, { timeout: timeoutMs }, async (t) => {
    failures = collectFailures(t);
    const before = processState();
    t.teardown(async () => {
      if (needsProcess) return;
      // A handle that has been closed is gone after a tick.
      await setImmediate();
      await setImmediate();
      const after = processState();
      const changed = Object.keys(before).filter((key) => after[key] !== before[key]);
      if (changed.length > 0)
        throw new Error(
          changed
            .map((key) => `the file has changed ${key} of its process from ${before[key]} to ${after[key]}`)
            .join('; '),
        );
    });
    const { beginFile } = path.startsWith(COPY) ? await import(`${COPY}/support/test.js`) : tests;
    beginFile(t, path);
    // A module is loaded once for each address.
    await import(`${pathToFileURL(path).href}${turn === 0 ? '' : `?turn=${turn}`}`);
  });
  return outcome(results, failures);
}

/** The failures of a file, of which one that has failed has at least one. */
const outcome = (
  results: { ok: boolean } | null | undefined,
  failures: readonly string[],
): readonly string[] =>
  results?.ok || failures.length > 0 ? failures : ['the file has failed without a failed assertion'];

const realNow = Date.now;

/** The global state of a process, so that a file which changes it would make later ones fail. */
function processState(): Record<string, unknown> {
  return {
    'the environment': JSON.stringify(process.env),
    'the working directory': cwd(),
    'the clock': Date.now === realNow && isClockReal(),
    'the exit code': process.exitCode,
    'the number of servers that listen': process
      .getActiveResourcesInfo()
      .filter((name) => name === 'TCPServerWrap').length,
  };
}
