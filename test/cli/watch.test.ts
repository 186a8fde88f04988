import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { declare } from '../support/collections.js';
import { plinthProcess, startPlinth } from '../support/command.js';
import { until } from '../support/process.js';
import { send, undeclaredDatabase } from '../support/service.js';
import t, { type Test } from '../support/test.js';

const book = (properties: object) => JSON.stringify({ title: 'Book', type: 'object', properties });

async function startWatching(t: Test, folder: string) {
  const service = startPlinth(t, ['serve', '--watch'], {
    DATABASE_URL: await undeclaredDatabase(t),
    MIGRATE: 'auto',
    COLLECTIONS: folder,
    PORT: '0',
    LOG_LEVEL: 'error',
  });
  return { service, url: await service.ready() };
}

t.test('a changed declaration is applied without a restart, and a faulty one is printed', async (t) => {
  const folder = declare(t, { 'books.json': book({ name: { type: 'string' } }) });
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  const { service, url } = await startWatching(t, folder);
  const status = async (path: string) => (await send(url, 'GET', path)).status;
  const { json } = await send(url, 'POST', '/books', { body: { name: 'a', price: 2 } });
  // The clients of the service go on meanwhile.
  let [isDone, unexpected] = [false, 0];
  const reading = (async () => {
    while (!isDone) if ((await status(`/books/${json.id}`)) !== 200) unexpected++;
  })();
  t.equal(await status('/pens'), 404);
  write('pens.json', book({ colour: { type: 'string' } }));
  await until('a new collection is served', async () => (await status('/pens')) === 200);
  write('books.json', book({ name: { type: 'string' }, price: { type: 'number', 'x-index': true } }));
  const priced = '/books?page=1&filter[price][gte]=2';
  await until('a new index is used', async () => (await send(url, 'GET', priced)).json?.meta?.total === 1);
  for (const [text, fault] of [
    ['{', 'is not JSON'],
    [book({ name: { type: 'strin' } }), 'books.json#/properties/name'],
    [book({ name: { type: 'number' }, price: { type: 'number' } }), '--allow-violations'],
  ] as const) {
    const before = service.stderr().length;
    write('books.json', text);
    await until(`${fault} is printed`, () => service.stderr().slice(before).includes(fault));
    await until('it says what goes on', () => /former declarations\.\n$/.test(service.stderr()));
    t.match((await send(url, 'GET', priced)).json, { meta: { total: 1 } }, fault);
    t.equal((await send(url, 'POST', '/books', { body: { name: 'b', price: 1 } })).status, 201);
  }
  isDone = true;
  await reading;
  t.equal(unexpected, 0);
  // The former declaration is not served during the window of this change.
  write('books.json', book({ title: { type: 'string', 'x-was': 'name' } }));
  await until(
    'the corrected one is served',
    async () => (await send(url, 'GET', `/books/${json.id}`)).json.title === 'a',
  );
  rmSync(join(folder, 'pens.json'));
  await until('a removed collection is not served', async () => (await status('/pens')) === 404);
  service.child.kill('SIGINT');
  t.equal(await service.ended, 0, service.stderr());
});

t.test('settings that a watched service cannot have are refused', async (t) => {
  const { code, err } = await plinthProcess(t, ['serve', '--watch'], { WORKERS: '2', PORT: '0' });
  t.match([code, err], [1, '--watch needs one process without TLS']);
});

t.test('content that is written again is applied once, a file in two parts too', async (t) => {
  const folder = declare(t, { 'books.json': book({ name: { type: 'string' } }) });
  const path = join(folder, 'books.json');
  const { service, url } = await startWatching(t, folder);
  const applied = () => service.stderr().match(/are applied/g)?.length ?? 0;
  const next = book({ name: { type: 'string' }, price: { type: 'number', 'x-index': true } });
  writeFileSync(path, next.slice(0, 9));
  writeFileSync(path, next.slice(9), { flag: 'a' });
  const priced = '/books?page=1&filter[price][gte]=2';
  await until('the change is served', async () => (await send(url, 'GET', priced)).status === 200);
  await until('it is printed', () => applied() === 1);
  writeFileSync(path, next);
  writeFileSync(join(folder, 'pens.json'), book({}));
  await until('a change after it is served', async () => (await send(url, 'GET', '/pens')).status === 200);
  await until('it is printed, too', () => applied() >= 2);
  t.equal(applied(), 2, service.stderr());
  t.notMatch(service.stderr(), /former declarations/);
  service.child.kill('SIGINT');
  t.equal(await service.ended, 0, service.stderr());
});
