import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';

/**
 * `npm test`: builds, and runs the tests that the arguments name, or the default ones. The check of the format, which reads all
 * files, runs beside them, in the default set and the sets that contain it. Sets with tests that need the packages of
 * test/clients install them.
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

const named = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const needsClients = named.some((name) => ['ci', 'all', 'release'].includes(name));
const isWhole = named.length === 0 || named.includes('ci') || named.includes('all');
const lint = isWhole ? succeeds(scripts.lint) : true;
const commands = [
  scripts.build,
  ...(needsClients && !hasClients() ? ['npm ci --no-audit --no-fund --prefix test/clients'] : []),
];
const done = await Promise.all(commands.map(succeeds));
if (process.ppid !== parent) process.exit(143);
// Loaded here, since it is what tsc has made. It sets the exit code.
if (!done.includes(false)) await import('../dist/test/support/run.js');
const isFormatted = await lint;
if (!isFormatted) process.stderr.write('# failed: npm run lint\n');
process.exit(done.includes(false) || !isFormatted ? 1 : process.exitCode);
