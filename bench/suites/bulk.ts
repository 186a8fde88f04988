import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, mkdtempSync, rmSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import postgres from 'postgres';
import { startEmbedded } from '../../src/features/embedded/embedded.js';
import { writeItems } from '../harness/item-file.js';
import { cpuOf } from '../harness/proc.js';
import { median } from '../harness/stats.js';

/**
 * Creates the items of a file of NDJSON by the command `import` and by one `POST`, each time in a new database, by turns:
 * records a second, the time of the command with its start, and CPU microseconds a record of the service.
 *
 *     node dist/bench/suites/bulk.js [records] [rounds]
 */
const at = (path: string) => fileURLToPath(new URL(`../../src/${path}.js`, import.meta.url));
const [COMMAND, SERVICE] = [at('cli/plinth'), at('../test/support/with-constants')];
/** A request may have as many records as the command. */
const PLINTH_TEST_CONSTANTS = JSON.stringify({ bulkRecords: 10_000_000, bulkBytes: 2 ** 34 });

const [count, rounds] = [Number(process.argv[2] ?? 200_000), Number(process.argv[3] ?? 5)];
const folder = mkdtempSync(join(tmpdir(), 'plinth-bench-'));
const file = join(folder, 'items.ndjson');
await writeItems(file, count);
const embedded = await startEmbedded({ dataDir: join(folder, 'data') });
const sql = postgres(embedded.url, { max: 1, onnotice: () => undefined });
const urlOf = (name: string) => embedded.url.replace(/\/[^/]*$/, `/${name}`);

try {
  await sql`create database pattern`;
  await plinth('migrate', 'pattern');
  const [imports, posts, cpu]: [number[], number[], number[]] = [[], [], []];
  for (let round = 0; round <= rounds; round++) {
    const imported = await inDatabase((name) => plinth('import', name, 'items', file));
    const posted = await inDatabase(post);
    // The first round fills the caches.
    if (round === 0) continue;
    imports.push(count / imported.seconds);
    posts.push(count / posted.seconds);
    cpu.push(posted.result);
  }
  const [command, http] = [median(imports), median(posts)];
  process.stdout.write(
    `import ${command.toFixed(0)} records/s, POST ${http.toFixed(0)} records/s: ${(http / command).toFixed(2)}\n` +
      `CPU of the service: ${median(cpu).toFixed(1)} us a record\n`,
  );
} finally {
  await sql.end();
  await embedded.stop();
  rmSync(folder, { recursive: true, force: true });
}

/** The seconds that work takes of its own accord, in a new database with `items`. */
async function inDatabase<T>(work: (name: string) => Promise<{ seconds: number; result: T }>) {
  await sql`create database items template pattern`;
  await sql`checkpoint`;
  const done = await work('items');
  await sql`drop database items with (force)`;
  return done;
}

async function plinth(command: string, name: string, ...args: string[]) {
  const since = performance.now();
  const env = { PATH: process.env.PATH, DATABASE_URL: urlOf(name) };
  const child = spawn(process.execPath, [COMMAND, command, ...args], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${command} ended with ${code}`);
  return { seconds: (performance.now() - since) / 1000, result: undefined };
}

/** Sends the file to a service, which has started before. */
async function post(name: string) {
  const env = {
    ...{
      PATH: process.env.PATH,
      DATABASE_URL: urlOf(name),
      PORT: '0',
      NODE_ENV: 'production',
      LOG_LEVEL: 'silent',
    },
    ...{ PLINTH_TEST_CONSTANTS, REQUEST_TIMEOUT_MS: '3600000' },
  };
  const child = spawn(process.execPath, [SERVICE], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  try {
    const url = /http:\/\/[\d.:]+/.exec(String(await Promise.race([once(child.stdout, 'data'), exited])))![0];
    const [since, before] = [performance.now(), cpuOf(child.pid!) ?? 0];
    const sent = request(`${url}/items`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-ndjson' },
    });
    const responded = once(sent, 'response') as Promise<[IncomingMessage]>;
    await pipeline(createReadStream(file, { highWaterMark: 262_144 }), sent);
    const [response] = await responded;
    response.resume();
    const seconds = (performance.now() - since) / 1000;
    if (response.statusCode !== 201) throw new Error(`POST: ${response.statusCode}`);
    return { seconds, result: (((cpuOf(child.pid!) ?? 0) - before) / count) * 1e6 };
  } finally {
    child.kill('SIGTERM');
    await exited;
  }
}
