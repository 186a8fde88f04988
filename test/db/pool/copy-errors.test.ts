import { testService } from '../../support/service.js';
import t from '../../support/test.js';

t.test('an error that comes together with the first rows of a stream rejects', async (t) => {
  const { db } = await testService(t);
  const text = 'copy (select (6 / (3 - n))::text from generate_series(1, 5) as n) to stdout (format binary)';
  const consume = async (rows: AsyncIterable<unknown>) => {
    for await (const _ of rows);
  };
  await t.rejects(db.copy(text, {}, consume), { code: '22012' });
  t.same(await db.run('select 1 as one', []), [{ one: 1 }], 'the next statement');
});
