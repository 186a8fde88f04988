import { readDeclarations } from '../../src/declarations/read-declarations.js';
import type { JsonObject } from '../../src/json.js';
import { planText } from '../../src/schema/checked-plan.js';
import { migrateCollections, planCollections } from '../../src/schema/migrate-collections.js';
import { testFaults } from '../declarations/faults.js';
import { declare } from '../support/collections.js';
import { declared } from '../support/declared.js';
import { freshService, type TestService, undeclaredDatabase } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t from '../support/test.js';

const notes = (properties: object, options: object = {}) => ({
  'notes.json': { title: 'Note', type: 'object', properties, 'x-collection': options },
});

const found = async ({ send }: TestService, search: string): Promise<unknown> =>
  ((await send('GET', `/notes?${new URLSearchParams({ search })}`)).json as JsonObject[]).map(({ n }) => n);

t.test('x-search changes for stored records, beside a former service', async (t) => {
  const DATABASE_URL = await undeclaredDatabase(t);
  const sql = sqlOf(t, DATABASE_URL);
  const indexes = async () =>
    (
      await sql`select indexname as name from pg_indexes where tablename in ('notes', 'notes$2') order by 1`
    ).map(({ name }) => String(name).replace(/_[0-9a-f]{8}$/, ''));
  const text = { type: 'string' };
  let former: TestService | undefined;
  let number = 0;
  const create = async (service: TestService, field: string, value: string) => {
    const { status } = await service.send('POST', '/notes', { body: { n: ++number, [field]: value } });
    t.equal(status, 201);
  };
  for (const [properties, options, field, index, searches] of [
    [{ text }, {}, 'text', [], {}],
    [
      { text: { ...text, 'x-search': 'words' } },
      {},
      'text',
      ['notes_words'],
      { running: [1, 2], run: [], unnin: [] },
    ],
    [
      { text: { ...text, 'x-search': 'words' } },
      { language: 'english' },
      'text',
      ['notes_words'],
      { running: [1, 2, 3, 4], run: [1, 2, 3, 4], unnin: [] },
    ],
    [
      { text: { ...text, 'x-search': true } },
      {},
      'text',
      ['notes_grams', 'notes_search'],
      { unnin: [1, 2, 3, 4, 5, 6] },
    ],
    [
      { body: { ...text, 'x-was': 'text', 'x-search': 'words' }, title: { ...text, 'x-search': 'words' } },
      {},
      'body',
      ['notes_words'],
      { 'running -never': [1, 2, 3, 4, 5, 6, 7] },
    ],
    [{ body: text, title: text }, {}, 'body', [], {}],
  ] as const) {
    const COLLECTIONS = declare(t, notes({ n: { type: 'integer' }, ...properties }, options));
    const declarations = readDeclarations(COLLECTIONS);
    await migrateCollections(DATABASE_URL, declarations);
    // The work on what a service with the former declaration writes meanwhile is repeated by the second migration.
    if (former && !('title' in properties && index.length > 0)) await create(former, field, 'running late');
    await migrateCollections(DATABASE_URL, declarations, { allowDrop: true });
    t.match(planText(await planCollections(DATABASE_URL, declarations)), 'matches the declarations');
    t.same(await indexes(), [...index, 'notes_pkey'].sort(), JSON.stringify(properties));
    const service = await freshService(t, { DATABASE_URL, COLLECTIONS });
    for (const [search, expected] of Object.entries(searches))
      t.same(await found(service, search), expected, `${JSON.stringify(properties)} ${search}`);
    await create(service, field, 'running');
    former = service;
  }
});

const of = (a: object, language?: string) =>
  declared({ a: { type: 'string', 'x-search': 'words', ...a } }, language === undefined ? {} : { language });
testFaults('faults of declarations with words are found, each with its place', [
  [of({ type: 'number' }), 'a/x-search: only a field of type string'],
  [of({ type: 'array', items: { type: 'string' } }), 'a/x-search: only a field of type string'],
  [of({ 'x-search': 'word' }), 'a/x-search: must be one of true, false, "words"'],
  [of({ writeOnly: true }), 'a/writeOnly: a field that'],
  [of({}, 'klingon'), '/x-collection/language: must be one of "simple", "arabic"'],
]);
