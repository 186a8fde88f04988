import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startNode } from '../../support/process.js';
import { send } from '../../support/service.js';
import t from '../../support/test.js';
import { until } from '../../support/until.js';

const PROGRAM = fileURLToPath(new URL('./leaving.js', import.meta.url));

t.test('a worker that leaves returns the connections that it has been handed meanwhile', async (t) => {
  const file = join(t.testdir(), 'leave');
  const service = startNode(t, [PROGRAM, file], {});
  const url = await service.ready();
  await until('the first worker waits', () => service.stdout().includes('the first worker waits'));
  const texts: string[] = [];
  const asking = Array.from({ length: 4 }, async () => texts.push((await send(url, 'GET', '/')).text));
  // The primary has handed one connection to each worker: those after the first go to the second worker.
  await until('the second worker has responded to the others', () => texts.length === 3);
  writeFileSync(file, '');
  await Promise.all(asking);
  t.same(texts, ['2', '2', '2', '2']);
});

t.test('a worker does not wait for a primary that does not respond', async (t) => {
  const file = join(t.testdir({ leave: '' }), 'leave');
  const service = startNode(t, [PROGRAM, file, '1'], {});
  await until('the first worker exits', () => service.stdout().includes('the first worker exits with 0'));
  t.pass('it has exited');
});
