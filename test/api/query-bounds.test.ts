import { MAX_QUERY } from '../../src/list/body-values.js';
import { MAX_VALUES } from '../../src/list/condition.js';
import { testService } from '../support/service.js';
import t from '../support/test.js';

/** A query of exactly so many bytes: JSON may have blanks. */
const padded = (query: object, bytes: number) => JSON.stringify(query).padEnd(bytes);
const values = (count: number) => ({
  filter: { name: { in: Array.from({ length: count }, (_, n) => `${n}`) } },
});

t.test('QUERY is bounded in bytes and in values', async (t) => {
  const { send } = await testService(t);
  t.equal((await send('POST', '/items', { body: { name: '7' } })).status, 201);
  for (const path of ['/items', '/api/v2/items']) {
    const query = (body: string | object) => send('QUERY', path, { body, type: 'application/json' });
    const codeOf = ({ json }: { json: { code?: string; error?: { code: string } } }) =>
      json.code ?? json.error?.code;
    const longest = await query(padded(values(MAX_VALUES), MAX_QUERY));
    t.equal(longest.status, 200, path);
    t.equal(longest.json.data.length, 1, path);
    const longer = await query(padded(values(MAX_VALUES), MAX_QUERY + 1));
    t.same([longer.status, codeOf(longer)], [413, 'PAYLOAD_TOO_LARGE'], path);
    t.match(longer.text, String(MAX_QUERY));
    const more = await query(values(MAX_VALUES + 1));
    t.same([more.status, codeOf(more)], [400, 'INVALID_QUERY'], path);
    t.match(more.text, 'has more than 100 values');
  }
});
