import { once } from 'node:events';
import { startProgram } from './process.js';
import t from './test.js';
import { until } from './until.js';

const module = (name: string) => JSON.stringify(new URL(name, import.meta.url).href);
/** A worker with a program of its own, whose ids it prints. */
const WORKER = `
  import { spawn } from 'node:child_process';
  import { endWithParent } from ${module('./runner/parent.js')};
  endWithParent();
  const child = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' });
  process.once('exit', () => child.kill('SIGKILL'));
  console.log(process.pid, child.pid);
  setInterval(() => undefined, 1000);
`;
const RUNNER = `
  import { spawn } from 'node:child_process';
  spawn(process.execPath, ['--input-type=module', '-e', ${JSON.stringify(WORKER)}], { stdio: 'inherit', detached: true });
  setInterval(() => undefined, 1000);
`;

const runs = (pid: number) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

for (const signal of ['SIGTERM', 'SIGINT', 'SIGKILL'] as const)
  t.test(`a worker ends what it has started when ${signal} ends the runner`, async (t) => {
    const runner = startProgram(t, process.execPath, ['--input-type=module', '-e', RUNNER], {});
    await until('the worker runs', () => /\d+ \d+\n/.test(runner.stdout()));
    const pids = runner.stdout().trim().split(' ').map(Number);
    t.ok(pids.every(runs));
    const exited = once(runner.child, 'exit');
    runner.child.kill(signal);
    await exited;
    await until('no process is left', () => !pids.some(runs));
  });

t.test('a worker that a signal ends does so, too', async (t) => {
  const worker = startProgram(t, process.execPath, ['--input-type=module', '-e', WORKER], {});
  await until('it runs', () => /\d+ \d+\n/.test(worker.stdout()));
  const pids = worker.stdout().trim().split(' ').map(Number);
  worker.child.kill('SIGTERM');
  t.equal(await worker.ended, 143);
  await until('no process is left', () => !pids.some(runs));
});
