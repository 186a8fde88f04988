import type { JsonObject } from '../../src/json.js';
import { openForCallers } from '../support/callers.js';
import { ADMIN, withAccess } from '../support/declared.js';
import t from '../support/test.js';

const SALARY = 12_345;

const collection = (access: readonly JsonObject[]): JsonObject =>
  withAccess(
    {
      title: { type: 'string', maxLength: 100, 'x-index': true, 'x-search': true },
      author: { type: 'string', maxLength: 100, 'x-index': true },
      salary: { type: 'integer', 'x-index': true },
    },
    [...access, ADMIN],
    { list: 'page' },
    { required: ['title'] },
  );

/** Requests, by whether they are read together with those of other callers. */
const REQUESTS = (id: string) => [
  ['GET', '/papers?page=1'],
  ['GET', '/papers?page=1&sort=title'],
  ['GET', '/papers?page=1&sort=created_at'],
  ['GET', '/papers?page=1&count=none'],
  ['GET', '/papers?filter[title]=one'],
  ['GET', '/papers?search=one'],
  ['GET', '/papers?group=salary'],
  ['GET', '/papers?fields=title,salary'],
  ['GET', '/api/v2/papers'],
  ['GET', '/api/v2/papers?filter[title]=one'],
  ['GET', `/papers/${id}`],
  ['QUERY', '/papers'],
];

t.test('requests of grants that differ in their fields alone show each caller its own fields', async (t) => {
  const where = { author: '$caller' };
  const { as, made } = await openForCallers(t, {
    'papers.json': collection([
      { can: 'read', scope: 'low', where, fields: ['title'] },
      { can: 'read', scope: 'high', where, fields: ['title', 'salary'] },
    ]),
  });
  const id = await made('/papers', { title: 'one', author: 'ann', salary: SALARY });
  const [low, high] = await Promise.all(['low', 'high'].map((scope) => as('ann', 'papers:read', scope)));
  for (const [method, path] of REQUESTS(id) as [string, string][])
    for (let round = 0; round < 8; round++) {
      const calls = round % 2 === 0 ? [low!, high!] : [high!, low!];
      const shown = await Promise.all(
        Array.from({ length: 8 }, (_, at) =>
          calls[at % 2]!(method, path, method === 'QUERY' ? { limit: 5 } : undefined),
        ),
      );
      for (const [at, { status, text }] of shown.entries()) {
        const isHigh = calls[at % 2] === high;
        if (isHigh) t.equal(status, 200, `${method} ${path}: ${text}`);
        t.equal(
          text.includes(String(SALARY)),
          isHigh,
          `${method} ${path}, round ${round}: ${status} ${text}`,
        );
      }
    }
});
