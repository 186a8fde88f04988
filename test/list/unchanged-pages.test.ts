import type { Row } from '../../src/db/db.js';
import { UnchangedPages } from '../../src/list/unchanged-pages.js';
import { createDbMetrics } from '../../src/telemetry/metrics.js';
import t from '../support/test.js';

/** The pages of a database whose state is what `state` says. */
function openPages(state: () => string | null) {
  const run = async (): Promise<Row[]> => [{ state: state() }];
  const pages = new UnchangedPages({ run, metrics: createDbMetrics() });
  let reads = 0;
  /** Whether the page was read, instead of being found in memory. */
  const isRead = async (key: string, docs: string): Promise<boolean> => {
    const before = reads;
    const row = await pages.read('a kind', [key], async () => {
      reads++;
      return { total: 1, docs };
    });
    t.equal(row?.docs, docs, 'the page of this key');
    return reads > before;
  };
  return { pages, isRead };
}

t.test('the third reading of a page is from memory, until the state changes', async (t) => {
  let state = 'first';
  const { isRead } = openPages(() => state);
  for (const wanted of [true, true, false, false]) t.equal(await isRead('a', 'page'), wanted);
  t.equal(await isRead('b', 'other page'), true, 'a page of another key is another one');
  state = 'second';
  t.equal(await isRead('a', 'new page'), true);
});

t.test('after changes, fewer and fewer readings request the state', async (t) => {
  let state = 0;
  let requests = 0;
  const { isRead } = openPages(() => {
    requests++;
    return String(state++);
  });
  for (let n = 0; n < 1000; n++) t.equal(await isRead('a', `page ${n}`), true);
  t.ok(requests < 100, `${requests} of 1,000`);
});

t.test('on a standby, which has no state, each page is read', async (t) => {
  const { isRead } = openPages(() => null);
  for (let n = 0; n < 5; n++) t.equal(await isRead('a', 'page'), true);
});

t.test('a page whose reading fails is not stored, nor one whose state cannot be read', async (t) => {
  let isDown = false;
  const { pages, isRead } = openPages(() => {
    if (isDown) throw new Error('no database');
    return 'state';
  });
  for (let n = 0; n < 3; n++) await isRead('a', 'page');
  isDown = true;
  await t.rejects(isRead('a', 'page'), { message: 'no database' });
  isDown = false;
  t.equal(await isRead('a', 'page'), false);
  await isRead('b', 'page');
  const failing = () => Promise.reject(new Error('no page'));
  await t.rejects(pages.read('a kind', ['b'], failing), { message: 'no page' });
  t.equal(await isRead('b', 'page'), true);
});

t.test('the pages in memory are few, and short in all', async (t) => {
  const { pages, isRead } = openPages(() => 'state');
  for (let n = 0; n < 5000; n++) await isRead(`small ${n}`, 'page');
  t.equal(pages.size, 2000);
  for (let n = 0; n < 200; n++)
    for (let turn = 0; turn < 2; turn++) await isRead(`large ${n}`, `${n}`.padEnd(100_000));
  t.ok(pages.characters <= 6_291_456, `${pages.characters} characters`);
  t.ok(pages.size < 100, `${pages.size} pages`);
  t.equal(await isRead('large 199', '199'.padEnd(100_000)), false, 'the last ones are there');
  t.equal(await isRead('large 0', '0'.padEnd(100_000)), true, 'the first ones are not');
  for (let turn = 0; turn < 4; turn++)
    t.equal(await isRead('too large', 'x'.repeat(200_000)), true, 'a page that is too large is read');
  for (let turn = 0; turn < 4; turn++) await isRead('key'.padEnd(9_000_000), 'page');
  t.ok(pages.characters <= 6_291_456, `${pages.characters} characters`);
});

t.test('pages of other kinds are other pages, also if there are many kinds', async (t) => {
  const { pages } = openPages(() => 'state');
  const read = (kind: string, values: string[], docs: string) =>
    pages.read(kind, values, async () => ({ docs })).then((row) => row?.docs);
  for (let turn = 0; turn < 3; turn++)
    for (let n = 0; n < 1500; n++) t.equal(await read(`kind ${n}`, ['a'], `page ${n}`), `page ${n}`);
  for (let turn = 0; turn < 3; turn++) {
    t.equal(await read('kind', ['a', 'b'], 'two values'), 'two values');
    t.equal(await read('kind', ['ab'], 'one value'), 'one value');
  }
});

t.test('the kinds in memory are short in all, and one that is too long has no page there', async (t) => {
  const { pages } = openPages(() => 'state');
  let reads = 0;
  const read = (kind: string) =>
    pages.read(kind, ['a'], async () => {
      reads++;
      return { docs: kind.slice(0, 20) };
    });
  for (let n = 0; n < 300; n++) {
    t.equal((await read(`${n}`.padEnd(60_000)))?.docs, `${n}`.padEnd(20));
    t.ok(pages.characters <= 6_291_456, `${pages.characters} characters`);
  }
  reads = 0;
  for (let n = 0; n < 4; n++) await read('kind'.padEnd(70_000));
  t.equal(reads, 4);
});

t.test('requests at once share the reading of a page that has changed', async (t) => {
  let state = 'first';
  const { pages } = openPages(() => state);
  let reads = 0;
  const read = () =>
    pages.read('a kind', ['a'], async () => {
      reads++;
      return { docs: state };
    });
  for (let n = 0; n < 3; n++) await read();
  state = 'second';
  reads = 0;
  const rows = await Promise.all(Array.from({ length: 20 }, read));
  t.same(new Set(rows.map((row) => row?.docs)), new Set(['second']));
  t.equal(reads, 1);
});
