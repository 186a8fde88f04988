import type { Run } from '../../src/db/db.js';
import { readDeclarations } from '../../src/declarations/read-declarations.js';
import { recordApplied } from '../../src/schema/migrate-collections.js';
import { declare } from '../support/collections.js';
import { plinth, startPlinth } from '../support/command.js';
import { testDatabase, testService } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t from '../support/test.js';

const UNKNOWN = '(';
const REFUSED = '^(?=a).+$';
const property = { type: 'string', pattern: REFUSED };

t.test('collections check refuses each pattern without linear time, and no other', async (t) => {
  const folder = declare(t, {
    'books.json': {
      type: 'object',
      properties: {
        isbn: { type: 'string', pattern: '^[0-9]{13}$' },
        nested: { type: 'string', pattern: '^(a+)+$' },
        name: property,
        'a/b': { type: 'array', items: { anyOf: [property, { type: 'number' }] } },
        map: { type: 'object', patternProperties: { '^x-': {}, '^(?!y)': property } },
        names: { type: 'object', propertyNames: { pattern: '(a)\\1' } },
        given: { type: 'object', default: { pattern: REFUSED }, enum: [{ pattern: REFUSED }] },
        shared: { $ref: '_shared.json#/$defs/code' },
        pattern: { type: 'string' },
        large: { type: 'string', pattern: '^[ab]*a[ab]{900}$' },
        broken: { type: 'string', pattern: UNKNOWN },
      },
    },
    '_shared.json': { $defs: { code: property } },
  });
  const { code, err } = await plinth(t, ['collections', 'check'], { COLLECTIONS: folder });
  t.equal(code, 78);
  const found = err.split('\n').map((line) => /#(\/\S*): (\w+ \w+ \S+)/.exec(line)?.slice(1));
  for (const expected of [
    ['/properties/name/pattern', 'has a look-ahead:'],
    ['/properties/a~1b/items/anyOf/0/pattern', 'has a look-ahead:'],
    ['/properties/map/patternProperties/^(?!y)', 'has a negative'],
    ['/properties/map/patternProperties/^(?!y)/pattern', 'has a look-ahead:'],
    ['/properties/names/propertyNames/pattern', 'refers back to'],
    ['/properties/broken/pattern', 'Invalid regular expression:'],
    ['/$defs/code/pattern', 'has a look-ahead:'],
    ['/properties/large/pattern', 'needs too many'],
  ])
    t.ok(
      found.some((each) => each?.join() === expected.join()),
      `${expected[0]}: ${expected[1]}`,
    );
  t.notMatch(err, /isbn|nested|given|x-/);
});

t.test('a start ends with 78 and the alternative, also for a recorded declaration', async (t) => {
  const url = await testDatabase(t);
  const folder = (pattern: string) =>
    declare(t, { 'books.json': { type: 'object', properties: { name: { type: 'string', pattern } } } });
  const service = await testService(t, {
    DATABASE_URL: url,
    COLLECTIONS: folder('^(a+)+$'),
    MIGRATE: 'auto',
  });
  const refused = await service.send('POST', '/books', { body: { name: `${'a'.repeat(50_000)}b` } });
  t.match(refused.json.errors, [{ path: '/name', keyword: 'pattern' }]);
  t.equal((await service.send('POST', '/books', { body: { name: 'aa' } })).status, 201);
  await service.stop();
  const COLLECTIONS = folder(REFUSED);
  const sql = sqlOf(t, url);
  const run: Run = async (text, values) => sql.unsafe(text, values as never[]) as never;
  await recordApplied(run, readDeclarations(COLLECTIONS).collections);
  const started = startPlinth(t, ['serve'], { DATABASE_URL: url, COLLECTIONS, PORT: '0' });
  t.equal(await started.ended, 78);
  t.match(started.stderr(), /books\.json#\/properties\/name\/pattern: has a look-ahead: write "allOf"/);
});
