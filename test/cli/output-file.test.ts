import { execFileSync } from 'node:child_process';
import { chmodSync, closeSync, openSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { plinth } from '../support/command.js';
import { testService } from '../support/service.js';
import t from '../support/test.js';

/** The commands that write a file, and what they write to the standard output without one. */
async function commands() {
  const { databaseUrl } = await testService(t);
  const env = { DATABASE_URL: databaseUrl };
  return Promise.all(
    [['export'], ['openapi']].map(async (args) => ({
      name: args[0]!,
      content: (await plinth(t, args, env)).out,
      write: (file: string) => plinth(t, [...args, '-o', file], env),
    })),
  );
}

const COMMANDS = await commands();

for (const { name, content, write } of COMMANDS) {
  t.test(`${name} replaces a file, which gets no more rights`, async (t) => {
    const folder = t.testdir({ secret: 'before', below: {} });
    symlinkSync('below', join(folder, 'door'));
    const file = join(folder, 'secret');
    chmodSync(file, 0o600);
    for (const path of [file, join(folder, 'door/new')]) {
      t.match(await write(path), { code: 0, out: '', err: '' });
      t.equal(readFileSync(path, 'utf8'), content);
    }
    t.equal(statSync(file).mode & 0o777, 0o600);
    t.notMatch(readdirSync(folder, { recursive: true }).join(), /\.part/);
  });

  t.test(`${name} refuses what is no file`, async (t) => {
    const folder = t.testdir({});
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    symlinkSync('file', join(folder, 'link'));
    for (const path of [folder, pipe, join(folder, 'link')])
      t.match(await write(path), { code: 73, err: /cannot be written: it is no file; redirect/ }, path);
    t.strictSame(readdirSync(folder), ['link', 'pipe'], 'nothing is left beside');
  });

  t.test(`${name} says why it cannot write a file`, async (t) => {
    const folder = t.testdir({ protected: 'before' });
    const file = join(folder, 'protected');
    chmodSync(file, 0o444);
    t.match(await write(join(folder, 'x'.repeat(300))), { code: 73, err: /written: ENAMETOOLONG/ });
    // The superuser may write every file.
    if (process.getuid?.() === 0) return;
    t.match(await write(file), { code: 73, err: /written: EACCES/ });
    t.equal(readFileSync(file, 'utf8'), 'before');
  });

  t.test(`${name} refuses the name of an open file`, { skip: process.platform !== 'linux' }, async (t) => {
    const folder = t.testdir({ open: 'before' });
    const link = join(folder, 'link');
    const fd = openSync(join(folder, 'open'), 'a');
    t.teardown(() => closeSync(fd));
    symlinkSync(`/proc/self/fd/${fd}`, link);
    for (const path of [`/proc/self/fd/${fd}`, link])
      t.match(await write(path), { code: 73, err: /cannot be written: it is no file; redirect/ }, path);
    t.equal(readFileSync(join(folder, 'open'), 'utf8'), 'before');
    t.strictSame(readdirSync(folder), ['link', 'open'], 'nothing is left beside');
  });
}
