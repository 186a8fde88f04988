import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import postgres from 'postgres';
import { startEmbedded } from '../../src/db/embedded/embedded.js';
import { migrate } from '../../src/db/migrate.js';
import { CITUS_URL, closeOnNodes, createCluster, databaseAt, dropOnNodes } from './citus.js';
import { contractGaps } from './contract.js';
import { errorGaps } from './provoked-errors.js';
import { migrateRenamed, writeRenamed } from './renamed.js';

/**
 * Runs the tests against a PostgreSQL of their own: every test file copies its database from a template. Arguments are
 * passed to tap. Test files are named by their source: `npm test -- test/api/preconditions.test.ts`. The name of a folder
 * in `ALONE` stands for its files, which run apart from the others, since they need the whole machine.
 */
const ALONE = ['faults', 'postgres-clusters', 'citus'];
/** What runs on a Citus cluster, besides the tests of test/citus. */
const ON_CITUS = ['api', 'events'];
const TEMPLATE = 'plinth_template';
const STOP_SIGNALS = ['SIGINT', 'SIGTERM'] as const;
if (process.argv[2] === 'citus' && CITUS_URL === '') {
  process.stdout.write('# SKIP the tests on Citus: CITUS_TEST_URL names no cluster\n');
  process.exit(0);
}
const root = fileURLToPath(new URL('../../../', import.meta.url));
const MIN_MEMORY_BYTES = 8 * 1024 ** 3;
const dataDir = mkdtempSync(join(fastFolder(), 'plinth-test-'));
// The data does not need to survive the run.
const embedded =
  CITUS_URL === ''
    ? await startEmbedded({
        dataDir,
        settings: ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'max_connections=400'],
      })
    : { url: databaseAt(CITUS_URL, 'postgres'), stop: dropTemplates };
const errorsFolder = mkdtempSync(join(tmpdir(), 'plinth-errors-'));
const contractFolder = mkdtempSync(join(tmpdir(), 'plinth-contract-'));
let code = 1;
try {
  const renamed = CITUS_URL === '' ? await template() : await citusTemplate();
  code = await tap(process.argv.slice(2), {
    PLINTH_TEST_URL: embedded.url,
    PLINTH_TEST_TEMPLATE: TEMPLATE,
    PLINTH_TEST_TEMPLATE_RENAMED: renamed,
    PLINTH_TEST_ERRORS: errorsFolder,
    PLINTH_TEST_CONTRACT: contractFolder,
  });
} finally {
  await embedded.stop();
  for (const folder of [dataDir, errorsFolder, contractFolder])
    rmSync(folder, { recursive: true, force: true });
}
process.exit(code);

/** Makes the database that tests copy; returns the name of the one for tests with other names for the collections. */
async function template(): Promise<string> {
  const sql = postgres(embedded.url, { max: 1, onnotice: () => undefined });
  await sql.unsafe(`create database ${TEMPLATE}`);
  await sql.end();
  await migrate(databaseAt(embedded.url, TEMPLATE), 10_000);
  return await renamedTemplate();
}

/** The same on a Citus cluster, where each node has a part of the database; without other names. */
async function citusTemplate(): Promise<string> {
  await dropTemplates();
  await createCluster(CITUS_URL, TEMPLATE);
  await migrate(databaseAt(CITUS_URL, TEMPLATE), 10_000, 'citus');
  await closeOnNodes(CITUS_URL, TEMPLATE);
  return TEMPLATE;
}

async function dropTemplates(): Promise<void> {
  await dropOnNodes(CITUS_URL, TEMPLATE);
}

/** Writes the tests with other names for the collections, and makes their database. */
async function renamedTemplate(): Promise<string> {
  writeRenamed();
  const name = `${TEMPLATE}_renamed`;
  const sql = postgres(embedded.url, { max: 1, onnotice: () => undefined });
  await sql.unsafe(`create database ${name} template ${TEMPLATE}`);
  await sql.end();
  await migrateRenamed(embedded.url.replace(/\/postgres$/, `/${name}`));
  return name;
}

/** Memory if there is enough of it: each test file creates databases of some hundred files. */
function fastFolder(): string {
  const memory = '/dev/shm';
  if (process.env.TMPDIR !== undefined || !existsSync(memory)) return tmpdir();
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize > MIN_MEMORY_BYTES ? memory : tmpdir();
}

/** Runs tests. Before, tap is built without the plugins that .taprc excludes: each test file would load them. */
async function tap(args: readonly string[], env: Record<string, string>): Promise<number> {
  const built = readFileSync(fileURLToPath(import.meta.resolve('@tapjs/test/test-built')), 'utf8');
  if (built.includes('@tapjs/typescript')) await runTap(['build'], {}, 'ignore');
  const alone = ALONE.find((name) => name === args[0]);
  const given = (alone === undefined ? args : args.slice(1)).map((arg) =>
    /^(\.\/)?test\/.*\.ts$/.test(arg) ? join(root, 'dist', arg.replace(/\.ts$/, '.js')) : arg,
  );
  const files = given.some((arg) => arg.endsWith('.js')) ? [] : testFiles(join(root, 'dist/test'), alone);
  const exitCode = await runTap([...given, ...files], env, 'inherit');
  const isWhole = files.length > 0 && alone === undefined;
  const gaps = isWhole
    ? [...errorGaps(env.PLINTH_TEST_ERRORS!), ...contractGaps(env.PLINTH_TEST_CONTRACT!)]
    : [];
  for (const gap of gaps) process.stderr.write(`gap: ${gap}\n`);
  return gaps.length > 0 ? 1 : exitCode;
}

async function runTap(
  args: readonly string[],
  env: Record<string, string>,
  stdio: 'inherit' | 'ignore',
): Promise<number> {
  const command = join(root, 'node_modules/tap/dist/esm/run.mjs');
  const child = spawn(process.execPath, [command, ...args], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio,
  });
  const stop = (signal: NodeJS.Signals) => child.kill(signal);
  for (const signal of STOP_SIGNALS) process.on(signal, stop);
  const [exitCode] = (await once(child, 'exit')) as [number | null];
  for (const signal of STOP_SIGNALS) process.off(signal, stop);
  return exitCode ?? 1;
}

/** The files of one folder that runs alone, or all others. */
function testFiles(folder: string, alone: string | undefined): string[] {
  const isIn = (name: string) => (each: string) => name.startsWith(`${each}${sep}`);
  const folderOf = (name: string) =>
    alone === 'citus' && ON_CITUS.some(isIn(name)) ? alone : ALONE.find(isIn(name));
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.js') && folderOf(name) === alone)
    .map((name) => join(folder, name));
}
