import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startEmbedded } from '../../src/features/embedded/embedded.js';
import { writeItems } from '../harness/item-file.js';

/**
 * Imports items from NDJSON into a new embedded database, and exports them: records a second, and the peak memory of the
 * command, which on Linux is VmHWM. The time includes the start of the command and the building of indexes.
 *
 *     node dist/bench/suites/import.js [records]
 */
const COMMAND = fileURLToPath(new URL('../../src/cli/plinth.js', import.meta.url));
const count = Number(process.argv[2] ?? 1_000_000);
const folder = mkdtempSync(join(tmpdir(), 'plinth-bench-'));
const file = join(folder, 'items.ndjson');
await writeItems(file, count);
const embedded = await startEmbedded({ dataDir: join(folder, 'data') });
try {
  for (const [name, args] of [
    ['import', ['import', 'items', file]],
    ['export', ['export', 'items', '-o', join(folder, 'out.ndjson')]],
  ] as const) {
    const { seconds, megabytes } = await measure(args);
    const rate = Math.round(count / seconds);
    process.stdout.write(
      `${name}: ${seconds.toFixed(1)} s, ${rate} records/s, ${Math.round(megabytes)} MB\n`,
    );
  }
} finally {
  await embedded.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function measure(args: readonly string[]): Promise<{ seconds: number; megabytes: number }> {
  const start = performance.now();
  const env = { PATH: process.env.PATH, DATABASE_URL: embedded.url };
  const child = spawn(process.execPath, [COMMAND, ...args], { env, stdio: 'inherit' });
  let megabytes = 0;
  const timer = setInterval(() => {
    megabytes = Math.max(megabytes, peakOf(child.pid!));
  }, 50);
  const [code] = await once(child, 'close');
  clearInterval(timer);
  if (code !== 0) throw new Error(`${args[0]} ended with ${code}`);
  return { seconds: (performance.now() - start) / 1000, megabytes };
}

/** The peak resident memory of a process in MB; 0 where it is unknown. */
function peakOf(pid: number): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}
