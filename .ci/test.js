import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';

/**
 * `npm test`: builds, checks the format, and runs the tests that the arguments name, or all. A test file that is named runs
 * without the check of the format, which reads all files. Sets with tests that need the packages of test/clients install them.
 */

/** npm's shell: the run ends with it, see test/support/runner/parent.ts. */
const parent = process.ppid;
const root = new URL('../', import.meta.url);
const { scripts } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'));

/** Runs a command in the root of the project. */
async function succeeds(command) {
  const child = spawn(command, { cwd: root, shell: true, stdio: 'inherit' });
  const [code] = await once(child, 'exit');
  return code === 0;
}

/** Whether test/clients has the packages of its lock file: npm writes its own list after them. */
function hasClients() {
  const [lock, installed] = ['', 'node_modules/.'].map(
    (path) => new URL(`test/clients/${path}package-lock.json`, root),
  );
  return existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs;
}

const needsClients = process.argv.slice(2).some((argument) => ['ci', 'all', 'release'].includes(argument));
const isFile = process.argv.slice(2).some((argument) => /\.test\.[jt]s$/.test(argument));
const commands = [
  scripts.build,
  ...(isFile ? [] : [scripts.lint]),
  ...(needsClients && !hasClients() ? ['npm ci --no-audit --no-fund --prefix test/clients'] : []),
];
const done = await Promise.all(commands.map(succeeds));
if (done.includes(false)) process.exit(1);
if (process.ppid !== parent) process.exit(143);
// Loaded here, since it is what tsc has made.
await import('../dist/test/support/run.js');
