import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { migrate } from '../../src/db/migrate.js';
import { startEmbedded } from '../../src/features/embedded/embedded.js';
import { memoryOf } from '../harness/proc.js';
import { median } from '../harness/stats.js';

/**
 * `npm run bench:footprint -- [rounds]`: how long a start takes, from the process to the first 200 on a migrated
 * database, and the resident memory a second later, by turns with `node -e 0` and the bare server.
 */

const ROUNDS = 15;
const SETTLE_MS = 1000;
const DISCOVERY = '/.well-known/openid-configuration';
const AUTH_SERVER = { AUTH: 'bearer', AUTH_SERVER: 'on', PUBLIC_URL: 'http://localhost:3000' };

const at = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

interface Start {
  readonly ms: number;
  readonly residentMiB: number | undefined;
}

/** The process to its end. */
async function empty(): Promise<Start> {
  const since = performance.now();
  await once(spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' }), 'exit');
  return { ms: performance.now() - since, residentMiB: undefined };
}

/** A server to its first response. */
async function server(
  program: string,
  databaseUrl: string,
  path: string,
  settings: Record<string, string> = {},
): Promise<Start> {
  const since = performance.now();
  const child = spawn(process.execPath, [program], {
    env: {
      PATH: process.env.PATH,
      NODE_ENV: 'production',
      DATABASE_URL: databaseUrl,
      PORT: '0',
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  const exited = once(child, 'exit');
  try {
    const line = await Promise.race([once(child.stdout, 'data').then(String), exited.then(() => '')]);
    const url = /http:\/\/[\d.:]+/.exec(line)?.[0];
    if (url === undefined) throw new Error(`${program} did not start`);
    const [response] = (await once(get(url + path, { agent: false }), 'response')) as [IncomingMessage];
    const ms = performance.now() - since;
    response.resume();
    if (response.statusCode !== 200) throw new Error(`${program} responded with ${response.statusCode}`);
    await sleep(SETTLE_MS);
    const memory = memoryOf(child.pid!);
    return { ms, residentMiB: memory && memory.resident / 1024 };
  } finally {
    child.kill('SIGTERM');
    await exited;
    process.off('exit', end);
  }
}

async function main(rounds: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-footprint-'));
  const database = await startEmbedded({ dataDir: folder });
  try {
    await migrate(database.url, 10_000);
    execFileSync(process.execPath, [at('.ci/bundle.js')]);
    const entrants: [name: string, run: () => Promise<Start>][] = [
      ['node -e 0', empty],
      ['bare node:http', () => server(at('dist/bench/peers/bare.js'), '', '/')],
      ['plinth, bundled', () => server(at('dist/start.cjs'), database.url, '/users?limit=1')],
      ['plinth, as built', () => server(at('dist/src/main.js'), database.url, '/users?limit=1')],
      ['with AUTH_SERVER, bundled', () => server(at('dist/start.cjs'), database.url, DISCOVERY, AUTH_SERVER)],
      [
        'with AUTH_SERVER, as built',
        () => server(at('dist/src/main.js'), database.url, DISCOVERY, AUTH_SERVER),
      ],
    ];
    const starts = entrants.map((): Start[] => []);
    for (let round = 0; round <= rounds; round++)
      for (const [index, [, run]] of entrants.entries()) {
        const start = await run();
        // The first round fills the caches of the file system.
        if (round > 0) starts[index]!.push(start);
      }
    report(
      entrants.map(([name]) => name),
      starts,
    );
  } finally {
    await database.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function report(names: readonly string[], starts: readonly Start[][]): void {
  const ms = starts.map((list) => median(list.map((start) => start.ms)));
  const resident = starts.map((list) => list.flatMap(({ residentMiB }) => residentMiB ?? []));
  const memory = resident.map((list) => (list.length > 0 ? median(list) : undefined));
  const line = (...cells: string[]) => process.stdout.write(`| ${cells.join(' | ')} |\n`);
  line('', 'ms', 'fastest', 'to node -e 0', 'more than it, ms', 'resident MiB', 'to bare');
  line('---', '---', '---', '---', '---', '---', '---');
  for (const [index, name] of names.entries())
    line(
      name,
      ms[index]!.toFixed(0),
      Math.min(...starts[index]!.map((start) => start.ms)).toFixed(0),
      (ms[index]! / ms[0]!).toFixed(2),
      (ms[index]! - ms[0]!).toFixed(0),
      memory[index]?.toFixed(1) ?? '',
      memory[index] === undefined ? '' : (memory[index] / memory[1]!).toFixed(2),
    );
}

const rounds = Number(process.argv[2] ?? ROUNDS);
if (!(rounds >= 1)) throw new RangeError('how many rounds?');
await main(rounds);
