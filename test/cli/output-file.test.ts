import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  createReadStream,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { plinth } from '../support/command.js';
import { startNode } from '../support/process.js';
import { testService } from '../support/service.js';
import t from '../support/test.js';

const MODULE = new URL('../../src/cli/output.js', import.meta.url).href;
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
  t.test(`${name} follows links to the file, which may not exist`, async (t) => {
    const folder = t.testdir({ there: { file: 'before' }, other: {} });
    symlinkSync('there/file', join(folder, 'link'));
    symlinkSync('link', join(folder, 'chain'));
    symlinkSync('there/new', join(folder, 'dangling'));
    symlinkSync(join(folder, 'dangling2'), join(folder, 'chain2'));
    symlinkSync('door/../new2', join(folder, 'dangling2'));
    mkdirSync(join(folder, 'there/below'));
    symlinkSync('there/below', join(folder, 'door'));
    const rows: [string, string][] = [
      ['link', 'there/file'],
      ['chain', 'there/file'],
      ['dangling', 'there/new'],
      ['chain2', 'there/new2'],
      ['door/below', 'there/below/below'],
    ];
    for (const [named, written] of rows) {
      const before = lstatSync(join(folder, named), { throwIfNoEntry: false })?.isSymbolicLink();
      t.match(await write(join(folder, named)), { code: 0, out: '', err: '' }, named);
      t.equal(readFileSync(join(folder, written), 'utf8'), content, named);
      if (before) t.ok(readlinkSync(join(folder, named)), `${named} is still a link`);
      rmSync(join(folder, written));
    }
    symlinkSync('circle', join(folder, 'circle'));
    t.match(await write(join(folder, 'circle')), { code: 73, err: /circle cannot be written: .*ELOOP/ });
    t.match(await write(folder), { code: 73, err: /cannot be written: .*EISDIR/ });
    t.notMatch(readdirSync(folder, { recursive: true }).join(), /\.part/);
  });

  t.test(`mode, owner and other names of a file stay when ${name} writes it`, async (t) => {
    const folder = t.testdir({ secret: 'before', shared: 'before', protected: 'before' });
    const file = join(folder, 'secret');
    chmodSync(file, 0o600);
    if (isRoot) chownSync(file, 65_534, 65_534);
    const former = statSync(file);
    t.match(await write(file), { code: 0, err: '' });
    const { mode, uid, gid } = statSync(file);
    t.same([mode, uid, gid], [former.mode, former.uid, former.gid]);
    t.equal(readFileSync(file, 'utf8'), content);

    linkSync(join(folder, 'shared'), join(folder, 'second'));
    t.match(await write(join(folder, 'shared')), { code: 0, err: '' });
    t.equal(readFileSync(join(folder, 'second'), 'utf8'), content);

    if (isRoot) return;
    chmodSync(join(folder, 'protected'), 0o444);
    t.match(await write(join(folder, 'protected')), { code: 73, err: /EACCES/ });
    t.equal(readFileSync(join(folder, 'protected'), 'utf8'), 'before');
  });

  t.test(`${name} writes to a FIFO`, async (t) => {
    const folder = t.testdir({});
    const [pipe, link] = [join(folder, 'pipe'), join(folder, 'link')];
    execFileSync('mkfifo', [pipe]);
    symlinkSync('pipe', link);
    for (const file of [pipe, link]) {
      const [read, written] = await Promise.all([text(createReadStream(pipe)), write(file)]);
      t.match(written, { code: 0, err: '' });
      t.equal(read, content);
    }
    t.ok(statSync(pipe).isFIFO());
    t.strictSame(readdirSync(folder).sort(), ['link', 'pipe'], 'nothing is left beside');
  });

  t.test(`${name} writes to a device`, { skip: !isRoot && 'only root makes devices' }, async (t) => {
    const folder = t.testdir({});
    const [none, full] = [join(folder, 'null'), join(folder, 'full')];
    try {
      execFileSync('mknod', [none, 'c', '1', '3'], { stdio: 'pipe' });
      execFileSync('mknod', [full, 'c', '1', '7'], { stdio: 'pipe' });
      writeFileSync(none, '');
    } catch {
      return t.pass('this machine permits no devices here');
    }
    symlinkSync('null', join(folder, 'link'));
    for (const file of [none, join(folder, 'link')]) t.match(await write(file), { code: 0, err: '' });
    t.match(await write(full), { code: 73, err: /full cannot be written: .*ENOSPC/ });
    for (const file of [none, full]) t.ok(statSync(file).isCharacterDevice());
    t.strictSame(readdirSync(folder).sort(), ['full', 'link', 'null']);
  });
}

t.test('a process that waits for the reader of a FIFO ends by a signal', async (t) => {
  const pipe = join(t.testdir({}), 'pipe');
  execFileSync('mkfifo', [pipe]);
  const script = `import { withOutputFile } from '${MODULE}';
    process.on('SIGTERM', () => process.exit(3));
    void withOutputFile({}, '${pipe}', async () => undefined);
    console.log('http://waits');
    setInterval(() => undefined, 1000);`;
  const waiting = startNode(t, ['--input-type=module', '-e', script], {});
  await waiting.ready();
  waiting.child.kill('SIGTERM');
  t.equal(await waiting.ended, 3);
});
