import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';

/**
 * `npm test`: builds, checks the format, and runs the tests that the arguments name, or all. A test file that is named runs
 * without the check of the format, which reads all files.
 */

const root = new URL('../', import.meta.url);
const { scripts } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'));

/** Runs a script of package.json, without another npm. */
async function succeeds(script) {
  const child = spawn(scripts[script], { cwd: root, shell: true, stdio: 'inherit' });
  const [code] = await once(child, 'exit');
  return code === 0;
}

const isFile = process.argv.slice(2).some((argument) => /\.test\.[jt]s$/.test(argument));
const done = await Promise.all((isFile ? ['build'] : ['build', 'lint']).map(succeeds));
if (done.includes(false)) process.exit(1);
// Loaded here, since it is what tsc has made.
await import('../dist/test/support/run.js');
