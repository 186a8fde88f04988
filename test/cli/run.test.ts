import { join } from 'node:path';
import { newSecret } from '../../src/features/webhooks/sign.js';
import { plinth, plinthProcess, startPlinth } from '../support/command.js';
import { startNode } from '../support/process.js';
import { testDatabase } from '../support/service.js';
import t from '../support/test.js';

t.jobs = 3;

t.test('a process ends with the exit code of its command', async (t) => {
  const env = { DATABASE_URL: await testDatabase(t) };
  const none = ['keys', 'revoke', '01a20900-0000-7000-8000-000000000000'];
  for (const [args, code] of [
    [['keys', 'list'], 0],
    [none, 1],
    [['keys'], 64],
  ] as const) {
    const ended = await plinthProcess(t, args, env);
    t.equal(ended.code, code);
    t.same(ended, await plinth(t, args, env));
  }
});

t.test('what goes on until a signal needs a process of its own', async (t) => {
  const env = { DATABASE_URL: await testDatabase(t), PORT: '0' };
  t.match(await plinth(t, ['serve'], env), { code: 1, out: '', err: /^plinth: the service needs a process/ });
  t.match(
    await plinth(t, ['webhooks', 'listen', '--port', '0'], { WEBHOOK_SECRET: newSecret() }),
    { code: 1, err: /^plinth: only a signal to a process of its own ends this command\n$/ },
    'it listens no more',
  );
});

t.test('runs in one process are independent, and leave nothing behind', async (t) => {
  const items = join(t.testdir({ 'items.ndjson': '{"name": "Lamp"}\n' }), 'items.ndjson');
  const lines = `
    import { Readable, Writable } from 'node:stream';
    import { run } from ${JSON.stringify(import.meta.resolve('../../src/cli/run.js'))};
    import { FEATURES as features } from ${JSON.stringify(import.meta.resolve('../../src/features.js'))};
    const runs = ${JSON.stringify([
      ['import', 'items', items],
      ['import', 'items', '-'],
      ['keys', 'list'],
      ['export', 'items'],
      ['migrate'],
      ['openapi'],
      ['users', 'create', 'ann@example.org', '--name', 'Ann'],
      ['keys', 'revoke', 'x'],
      ['export', 'items', '-o', '/nowhere/x'],
    ])};
    const urls = process.argv.slice(1);
    const before = [process.eventNames(), { ...process.env }];
    const start = (args, index) => {
      const DATABASE_URL = urls[index] ?? urls.at(-1);
      const printed = [];
      const output = () => new Writable({ write: (chunk, encoding, done) => done(void printed.push(String(chunk))) });
      const stdin = Readable.from([Buffer.from('correct horse battery staple\\n')]);
      const io = { features, stdin, stdout: output(), stderr: output(), env: { DATABASE_URL, PORT: '0' } };
      return run(args, io).then((code) => [code, printed.join('')]);
    };
    const ended = await Promise.all(runs.map(start));
    // The command doctor measures times, which the other runs would lengthen.
    ended.push(await start(['doctor'], runs.length));
    const after = [process.eventNames(), { ...process.env }];
    console.log(JSON.stringify({ ended, before, after }));`;
  // An import changes the indexes meanwhile, which others would report.
  const urls = [await testDatabase(t), await testDatabase(t), await testDatabase(t)];
  const args = ['--input-type=module', '-e', lines, ...urls];
  const { ended, stdout, stderr } = startNode(t, args, {});
  t.same([await ended, stderr()], [0, ''], 'it ends by itself');
  const { ended: runs, before, after } = JSON.parse(stdout());
  for (const [index, code] of [0, 64, 0, 0, 0, 0, 0, 64, 73, 0].entries())
    t.equal(runs[index][0], code, `${index}: ${runs[index][1].slice(0, 1000)}`);
  t.same(after, before);
});

t.test('a file .env belongs to a run', async (t) => {
  const cwd = t.testdir({ '.env': 'PORT=x\nHOST=127.0.0.1' });
  const fails = { code: 78, err: /^plinth: PORT must be / };
  t.match(await plinth(t, ['collections', 'check'], {}, { cwd }), fails);
  t.match(await plinth(t, ['collections', 'check'], { PORT: '' }, { cwd }), { code: 0, err: '' });
  t.match(await plinth(t, ['collections', 'check']), { code: 0, err: '' });
  const folder = t.testdir({ '.env': {} });
  t.match(await plinth(t, ['collections', 'check'], {}, { cwd: folder }), {
    code: 78,
    err: /^plinth: \.env cannot be read: /,
  });
});

t.test('a process ends with 1 and without a message when nothing reads its output', async (t) => {
  for (const args of [['--version'], ['collections', 'check', '--help']]) {
    const { child, ended, stderr } = startPlinth(t, args);
    child.stdout!.destroy();
    t.same([await ended, stderr()], [1, ''], args.join(' '));
  }
});
