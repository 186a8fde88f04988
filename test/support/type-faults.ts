import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const COMPILER = join(ROOT, 'node_modules/@typescript/native/lib/tsc.js');

/** The faults that the compiler finds in programs. The native one takes less CPU time and memory than that in JavaScript. */
export function typeFaults(files: readonly string[], options: string): string[] {
  const general = ['--ignoreConfig', '--strict', '--skipLibCheck', '--pretty', 'false'];
  const args = [COMPILER, ...general, ...options.split(' '), ...files];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' });
  const faults = stdout.split(/\n(?=\S)/).filter((fault) => fault !== '');
  return status !== 0 && faults.length === 0 ? [`${status} ${stderr}`] : faults;
}
