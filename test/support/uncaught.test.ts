import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { ROOT } from './runner/files.js';
import t from './test.js';

/** A file whose first test never ends by itself. */
const source = `
import t from ${JSON.stringify(join(ROOT, 'dist/test/support/test.js'))};
t.test('a timer throws', async () => {
  setTimeout(() => { throw new Error('thrown'); });
  await new Promise(() => undefined);
});
t.test('a promise rejects', async () => {
  void Promise.reject(new Error('rejected'));
  await new Promise(() => undefined);
});
t.test('the next test', async (t) => t.pass('runs'));
`;

t.test('an error that no test catches fails the test that runs, and no other', async (t) => {
  const path = join(t.testdir({ 'throws.js': source }), 'throws.js');
  const file = JSON.stringify({ name: 'throws', path, needsProcess: true, turn: 0, timeoutMs: 60_000 });
  const noLoaders = join(ROOT, 'test/support/no-loaders.cjs');
  const entry = join(ROOT, 'dist/test/support/runner/one-file.js');
  const child = spawn(process.execPath, ['--require', noLoaders, entry, file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  const results = [...output.matchAll(/^ *((?:not )?ok \d+ - [a-z ]*[a-z])/gm)].map(([, result]) => result);
  t.same(results, [
    'not ok 1 - thrown',
    'not ok 1 - a timer throws',
    'not ok 1 - rejected',
    'not ok 2 - a promise rejects',
    'ok 1 - runs',
    'ok 3 - the next test',
    'not ok 1 - throws',
  ]);
  t.equal(code, 1);
});
