import t from 'tap';
import { coalesce } from '../../src/db/coalesce.js';
import type { Row } from '../../src/db/connect.js';

/** A database that answers when told to, and remembers what it was asked. */
function database() {
  const asked: { ids: string[]; answer: () => void; fail: (error: Error) => void }[] = [];
  const run = (_text: string, [list]: readonly unknown[]) =>
    new Promise<Row[]>((resolve, reject) => {
      const ids = String(list).slice(1, -1).split(',');
      asked.push({
        ids,
        answer: () => resolve(ids.filter((id) => !id.startsWith('no')).map((id) => ({ id }))),
        fail: reject,
      });
    });
  return { asked, read: coalesce(run, 'text') };
}

const turn = () => new Promise<void>((done) => setImmediate(() => setImmediate(done)));

t.test('reads of one turn are one statement, and each gets its own row', async (t) => {
  const { asked, read } = database();
  const reads = [read('a'), read('b'), read('a'), read('none')];
  await turn();
  t.same(
    asked.map(({ ids }) => ids),
    [['a', 'b', 'none']],
  );
  asked[0]!.answer();
  t.same(await Promise.all(reads), [{ id: 'a' }, { id: 'b' }, { id: 'a' }, undefined]);
});

t.test('a read never joins a statement that was sent before it was asked for', async (t) => {
  const { asked, read } = database();
  const first = read('a');
  await turn();
  const second = read('a');
  await turn();
  t.equal(asked.length, 2);
  for (const { answer } of asked) answer();
  t.same(await Promise.all([first, second]), [{ id: 'a' }, { id: 'a' }]);
});

t.test('statements are bounded in keys and in number, and nobody is forgotten', async (t) => {
  const { asked, read } = database();
  const reads = Array.from({ length: 1000 }, (_, n) => read(`k${n}`));
  await turn();
  await turn();
  t.same(
    asked.map(({ ids }) => ids.length),
    [256, 256, 256],
  );
  for (let done = 0; done < asked.length; done++) {
    asked[done]!.answer();
    await turn();
  }
  t.same(
    (await Promise.all(reads)).map((row) => row?.id),
    reads.map((_, n) => `k${n}`),
  );
});

t.test('an error reaches those whose statement it was, and no others', async (t) => {
  const { asked, read } = database();
  const first = [read('a'), read('b')];
  await turn();
  const second = read('c');
  await turn();
  asked[0]!.fail(new Error('lost'));
  asked[1]!.answer();
  for (const one of first) await t.rejects(one, /lost/);
  t.same(await second, { id: 'c' });
});

t.test('more waiting reads than the bound are refused', async (t) => {
  const { asked, read } = database();
  const reads = Array.from({ length: 20_001 }, (_, n) => read(`k${n}`));
  await t.rejects(reads.at(-1)!, /are waiting for the database/);
  reads.pop();
  await turn();
  for (let done = 0; done < asked.length; done++) {
    asked[done]!.answer();
    await turn();
  }
  t.equal((await Promise.all(reads)).length, 20_000);
});
