import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import postgres from 'postgres';
import { startEmbedded } from '../../src/db/embedded/embedded.js';
import { migrate } from '../../src/db/migrate.js';

/**
 * Runs the tests against a PostgreSQL of their own: every test file copies its database from a template. Arguments are
 * passed to tap. Test files are named by their source: `npm test -- test/http/preconditions.test.ts`. `faults` stands
 * for the files of test/faults, which run alone, since they need the whole machine.
 */
const FAULTS = 'faults';
const TEMPLATE = 'plinth_template';
const dataDir = mkdtempSync(join(tmpdir(), 'plinth-test-'));
// The data does not need to survive the run.
const embedded = await startEmbedded({
  dataDir,
  settings: ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'max_connections=400'],
});
let code = 1;
try {
  const sql = postgres(embedded.url, { max: 1, onnotice: () => undefined });
  await sql.unsafe(`create database ${TEMPLATE}`);
  await sql.end();
  await migrate(embedded.url.replace(/\/postgres$/, `/${TEMPLATE}`), 10_000);
  code = await tap(process.argv.slice(2), { PLINTH_TEST_URL: embedded.url, PLINTH_TEST_TEMPLATE: TEMPLATE });
} finally {
  await embedded.stop();
  rmSync(dataDir, { recursive: true, force: true });
}
process.exit(code);

async function tap(args: readonly string[], env: Record<string, string>): Promise<number> {
  const root = fileURLToPath(new URL('../../../', import.meta.url));
  const faults = args[0] === FAULTS;
  const given = (faults ? args.slice(1) : args).map((arg) =>
    /^(\.\/)?test\/.*\.ts$/.test(arg) ? join(root, 'dist', arg.replace(/\.ts$/, '.js')) : arg,
  );
  const files = given.some((arg) => arg.endsWith('.js')) ? [] : testFiles(join(root, 'dist/test'), faults);
  const child = spawn(
    process.execPath,
    [join(root, 'node_modules/tap/dist/esm/run.mjs'), ...given, ...files],
    {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: 'inherit',
    },
  );
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
  const [exitCode] = (await once(child, 'exit')) as [number | null];
  return exitCode ?? 1;
}

function testFiles(folder: string, faults: boolean): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.js') && name.startsWith(`${FAULTS}${sep}`) === faults)
    .map((name) => join(folder, name));
}
