import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import postgres from 'postgres';
import { startEmbedded } from '../../src/db/embedded/embedded.js';
import { migrate } from '../../src/db/migrate.js';
import { contractGaps } from './contract.js';
import { errorGaps } from './provoked-errors.js';
import { migrateRenamed, writeRenamed } from './renamed.js';

/**
 * Runs the tests against a PostgreSQL of their own: every test file copies its database from a template. Arguments are
 * passed to tap. Test files are named by their source: `npm test -- test/api/preconditions.test.ts`. The name of a folder
 * in `ALONE` stands for its files, which run apart from the others, since they need the whole machine.
 */
const ALONE = ['faults', 'postgres-clusters'];
const TEMPLATE = 'plinth_template';
const STOP_SIGNALS = ['SIGINT', 'SIGTERM'] as const;
const root = fileURLToPath(new URL('../../../', import.meta.url));
const MIN_MEMORY_BYTES = 8 * 1024 ** 3;
const dataDir = mkdtempSync(join(fastFolder(), 'plinth-test-'));
// The data does not need to survive the run.
const embedded = await startEmbedded({
  dataDir,
  settings: ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'max_connections=400'],
});
const errorsFolder = mkdtempSync(join(tmpdir(), 'plinth-errors-'));
const contractFolder = mkdtempSync(join(tmpdir(), 'plinth-contract-'));
let code = 1;
try {
  const sql = postgres(embedded.url, { max: 1, onnotice: () => undefined });
  await sql.unsafe(`create database ${TEMPLATE}`);
  await sql.end();
  await migrate(embedded.url.replace(/\/postgres$/, `/${TEMPLATE}`), 10_000);
  const renamed = await renamedTemplate();
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
  const folderOf = (name: string) => ALONE.find((each) => name.startsWith(`${each}${sep}`));
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.js') && folderOf(name) === alone)
    .map((name) => join(folder, name));
}
