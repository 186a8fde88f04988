import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { plinth } from '../support/command.js';
import { testService } from '../support/service.js';
import t from '../support/test.js';

const isRoot = process.getuid?.() === 0;

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
  t.test(`${name} follows links to the file`, async (t) => {
    const folder = t.testdir({ there: { file: 'before' }, other: {} });
    symlinkSync('there/file', join(folder, 'link'));
    symlinkSync('link', join(folder, 'chain'));
    mkdirSync(join(folder, 'there/below'));
    symlinkSync('there/below', join(folder, 'door'));
    for (const [named, written] of [
      ['link', 'there/file'],
      ['chain', 'there/file'],
      ['door/below', 'there/below/below'],
    ] as const) {
      const before = lstatSync(join(folder, named), { throwIfNoEntry: false })?.isSymbolicLink();
      t.match(await write(join(folder, named)), { code: 0, out: '', err: '' }, named);
      t.equal(readFileSync(join(folder, written), 'utf8'), content, named);
      if (before) t.ok(readlinkSync(join(folder, named)), `${named} is still a link`);
    }
    symlinkSync('circle', join(folder, 'circle'));
    t.match(await write(join(folder, 'circle')), { code: 73, err: /circle cannot be written: .*ELOOP/ });
    t.notMatch(readdirSync(folder, { recursive: true }).join(), /\.part/);
  });

  t.test(`the mode of a file stays when ${name} writes it`, async (t) => {
    const folder = t.testdir({ secret: 'before', protected: 'before' });
    const file = join(folder, 'secret');
    chmodSync(file, 0o600);
    t.match(await write(file), { code: 0, err: '' });
    t.equal(statSync(file).mode & 0o777, 0o600);
    t.equal(readFileSync(file, 'utf8'), content);
    chmodSync(file, 0o666);
    t.match(await write(file), { code: 0, err: '' });
    t.equal(statSync(file).mode & 0o777, 0o666, 'whatever the umask');
    if (isRoot) return;
    chmodSync(join(folder, 'protected'), 0o444);
    t.match(await write(join(folder, 'protected')), { code: 73, err: /EACCES/ });
    t.equal(readFileSync(join(folder, 'protected'), 'utf8'), 'before');
  });

  t.test(`${name} refuses what is no file`, async (t) => {
    const folder = t.testdir({});
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    for (const path of [folder, pipe])
      t.match(await write(path), { code: 73, err: /cannot be written: it is no file; redirect/ }, path);
    t.strictSame(readdirSync(folder), ['pipe'], 'nothing is left beside');
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
