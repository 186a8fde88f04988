import type { JsonObject } from '../../src/json.js';
import { declare } from '../support/collections.js';
import { declared } from '../support/declared.js';
import { testService } from '../support/service.js';
import t from '../support/test.js';

const reference = (to: string) => ({ type: 'string', format: 'uuid', 'x-references': to });
const text = { type: 'string', maxLength: 100, 'x-index': true };
const collection = (properties: JsonObject, options: JsonObject = {}) =>
  declared(properties, { list: 'page', ...options });
const DECLARATIONS = {
  'shelves.json': collection({ room: text }),
  'books.json': collection(
    { shelfId: reference('shelves'), status: text, number: { type: 'number', 'x-index': true } },
    { nested: true },
  ),
};

t.test('a value that the database cannot compute with fails its own request alone', async (t) => {
  const service = await testService(t, { COLLECTIONS: declare(t, DECLARATIONS), MIGRATE: 'auto' });
  const values = ['7', '1e-400', '"', '8', '-0.0', '1e3'];
  const responses = await Promise.all(
    values.map((value) => service.send('GET', `/books?filter[number]=${encodeURIComponent(value)}`)),
  );
  t.same(
    responses.map(({ status }) => status),
    [200, 400, 400, 200, 200, 200],
  );
  const texts = ['"', '\\', '{}', ',', 'NULL', ' a ', ''];
  const created = await service.send('POST', '/shelves', { body: { room: 'a' } });
  for (const text of texts)
    await service.send('POST', '/books', { body: { shelfId: created.json.id, status: text } });
  const found = await Promise.all(
    texts.map((text) => service.send('GET', `/books?filter[status]=${encodeURIComponent(text)}`)),
  );
  t.same(
    found.map(({ json }) => (json.data as JsonObject[]).map(({ status }) => status)),
    texts.map((text) => [text]),
  );
});
