import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Writable } from 'node:stream';
import { logLines } from '../../src/telemetry/log-output.js';
import { PROGRAM } from '../support/process.js';
import { send, testDatabase } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { until, untilAtLeast } from '../support/until.js';

/** A service whose standard output is a pipe that the test reads, or not. */
async function serviceWithLog(t: Test) {
  const child = spawn(process.execPath, [PROGRAM], {
    env: { PATH: process.env.PATH, PORT: '0', ACCESS_LOG: 'on', DATABASE_URL: await testDatabase(t) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const ended = once(child, 'exit');
  const [ready] = (await once(child.stdout, 'data')) as [Buffer];
  const url = /http:\S+/.exec(ready.toString())![0];
  return { child, url, ended };
}

t.test('lines of one tick are one write, in order', async (t) => {
  const written: string[] = [];
  const output = new Writable({
    decodeStrings: false,
    write: (chunk, _encoding, done) => {
      written.push(chunk);
      done();
    },
  });
  const lines = logLines(output);
  for (const line of ['a\n', 'b\n', 'c\n']) lines.write(line);
  await untilAtLeast('they are written', () => written, 1);
  t.same(written, ['a\nb\nc\n']);
});

t.test('unread lines are dropped beyond a bound, and reported once they are read again', async (t) => {
  const written: string[] = [];
  let read: () => void = () => undefined;
  const output = new Writable({
    write: (chunk, _encoding, done) => {
      written.push(String(chunk));
      read = done;
    },
  });
  const lines = logLines(output, 100);
  const ticks = () => new Promise((done) => setImmediate(() => setImmediate(done)));
  for (let n = 0; n < 5; n++) {
    lines.write(`${'x'.repeat(39)}\n`);
    await ticks();
  }
  t.equal(output.writableLength, 80, 'no more than the bound waits');
  read();
  await ticks();
  lines.write('after\n');
  await ticks();
  read();
  await ticks();
  const [dropped, after] = written.at(-1)!.trim().split('\n');
  t.match(JSON.parse(dropped!), { level: 40, dropped: 3, msg: /dropped/ });
  t.equal(after, 'after');
});

t.test('an output that fails ends nothing', async (t) => {
  const output = new Writable({
    write: (_chunk, _encoding, done) => done(Object.assign(new Error('no space'), { code: 'ENOSPC' })),
    autoDestroy: false,
  });
  const lines = logLines(output);
  lines.write('a\n');
  await until(
    'the error is reported',
    () => output.errored,
    (seen) => seen !== null,
  );
  t.doesNotThrow(() => lines.write('b\n'));
});

t.test('a service whose log no process reads goes on, in bounded memory, and stops in order', async (t) => {
  const { child, url, ended } = await serviceWithLog(t);
  child.stdout.pause();
  const path = `/nowhere/${'x'.repeat(7000)}`;
  const round = async (requests: number) => {
    for (let n = 0; n < requests / 20; n++)
      await Promise.all(Array.from({ length: 20 }, () => send(url, 'GET', path)));
  };
  // 64 KiB of pipe, what Node reads ahead, and the 4 MiB that may wait.
  await round(960);
  const before = residentOf(child.pid!);
  await round(960);
  t.ok(residentOf(child.pid!) < before + 40_000_000, 'no line is retained beyond the bound');
  t.equal((await send(url, 'GET', '/users')).status, 200);
  child.kill('SIGTERM');
  const [code] = await ended;
  t.equal(code, 0);
});

t.test('a service whose log is closed goes on', async (t) => {
  const { child, url, ended } = await serviceWithLog(t);
  child.stdout.destroy();
  for (let n = 0; n < 5; n++) t.equal((await send(url, 'GET', '/nowhere')).status, 404);
  child.kill('SIGTERM');
  const [code] = await ended;
  t.equal(code, 0);
});

function residentOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}
