import { declare } from '../support/collections.js';
import { testService } from '../support/service.js';
import t from '../support/test.js';

const TEXTS = ['a\nb', 'a', 'b', 'b\nc', 'c', 'a\nb\nc', 'b\na\nc'];

const DECLARATIONS = {
  'notes.json': {
    title: 'Note',
    type: 'object',
    properties: {
      first: { type: 'string', 'x-index': true },
      second: { type: 'string', 'x-index': true },
    },
    'x-collection': { list: 'page', sort: '-created_at' },
  },
};

t.test('searches at once whose values have line breaks find their own records', async (t) => {
  const COLLECTIONS = declare(t, DECLARATIONS);
  const service = await testService(t, { COLLECTIONS, MIGRATE: 'auto' }, { dbSearches: 1 });
  const notes = TEXTS.flatMap((first) => TEXTS.map((second) => ({ first, second })));
  const ids: string[] = [];
  for (const body of notes) ids.push((await service.send('POST', '/notes', { body })).json.id);
  const found = await Promise.all(
    notes.map((filter) => service.send('QUERY', '/notes', { body: { filter } })),
  );
  t.same(
    found.map(({ status, json }) => [status, json.data?.map(({ id }: { id: string }) => id)]),
    ids.map((id) => [200, [id]]),
  );
});
