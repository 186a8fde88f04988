import { readDeclarations } from '../../src/declarations/read-declarations.js';
import { migrateCollections, planCollections } from '../../src/schema/migrate-collections.js';
import { declare } from '../support/collections.js';
import { startProcess } from '../support/process.js';
import { send } from '../support/send.js';
import { undeclaredDatabase } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { some } from '../support/thorough.js';
import { until } from '../support/until.js';
import { targetOf, Writers } from '../support/writers.js';

type Fields = Readonly<Record<string, object>>;

const AUTHORS = { title: 'Author', type: 'object', properties: { name: { type: 'string' } } };
const FIELDS: Fields = {
  name: { type: 'string', 'x-index': true, 'x-search': true },
  isbn: { type: 'string', 'x-unique': true },
  price: { type: 'number', 'x-index': true },
  tags: { type: 'array', items: { type: 'string' }, 'x-index': true },
  note: { type: 'string' },
  authorId: { type: 'string', 'x-references': 'authors', 'x-on-delete': 'null' },
};
const books = (change: Fields = {}, more: object = {}) => ({
  title: 'Book',
  type: 'object',
  properties: Object.fromEntries(
    Object.entries({ ...FIELDS, ...change }).filter(([, field]) => 'type' in field),
  ),
  ...more,
});
const NONE = {};

/** Fields and options of which the former declaration, or the present one, knows nothing. */
const SET = {
  number: { type: 'integer', 'x-index': true, 'x-set': { next: true } },
  by: { type: 'string', 'x-set': '$caller' },
  at: { type: 'string', format: 'date-time', 'x-index': true, 'x-set': { value: '$now', on: 'write' } },
  isbn: { type: 'string', 'x-unique': true, 'x-immutable': true },
  note: { type: 'string', 'x-search': 'words' },
};
const OPTIONS = {
  language: 'english',
  history: true,
  index: ['updated_at'],
  ids: 'client',
  unique: [['isbn', 'price']],
  access: [
    { can: 'all', where: { price: { gte: 0 } }, to: 'anyone' },
    { can: 'all', where: { price: { null: true } } },
  ],
};

/** Declarations by which a running service's are replaced: what the step is, and the files. */
const CHANGES: readonly [says: string, files: Readonly<Record<string, object>>, former?: object][] = [
  [
    'indexes, unique values, a search and a reference are removed',
    {
      books: books({
        name: { type: 'string' },
        price: { type: 'number' },
        tags: { type: 'array', items: { type: 'string' } },
        isbn: { type: 'string' },
        authorId: { type: 'string' },
      }),
    },
  ],
  [
    'a reference restricts, and indexes are added',
    {
      books: books({
        authorId: { type: 'string', 'x-references': 'authors', 'x-on-delete': 'restrict' },
        note: { type: 'string', 'x-index': true, 'x-search': true },
      }),
    },
  ],
  [
    'a field is dropped, and a required one has a default',
    {
      books: books(
        {
          price: NONE,
          state: { type: 'string', default: 'new', 'x-index': true },
        },
        { required: ['state'] },
      ),
    },
  ],
  [
    'values of the service, words, history, keys and access rules are declared',
    { books: books(SET, { 'x-collection': OPTIONS }) },
  ],
  [
    'values of the service, words, history, keys and access rules are removed',
    { books: books() },
    books(SET, { 'x-collection': OPTIONS }),
  ],
];

const WRITERS = 4;

type Files = Readonly<Record<string, object>>;

const folderOf = (t: Test, files: Files) =>
  declare(
    t,
    Object.fromEntries(
      Object.entries({ authors: AUTHORS, ...files }).map(([name, each]) => [`${name}.json`, each]),
    ),
  );

/** A process with declarations. After SIGTERM it accepts connections until the balancer has noticed. */
async function serve(t: Test, url: string, files: Files) {
  const service = startProcess(t, {
    DATABASE_URL: url,
    COLLECTIONS: folderOf(t, files),
    MIGRATE: 'auto',
    LOG_LEVEL: 'error',
    SHUTDOWN_DELAY_MS: '300',
  });
  return { ...service, base: await service.ready() };
}

/** Runs a plan, and gives the steps that it printed before, and those that it ran. */
async function migrate(url: string, files: ReturnType<typeof readDeclarations>, allows: object = {}) {
  const { steps, drops } = await planCollections(url, files);
  const executed: string[] = [];
  await migrateCollections(url, files, { onStep: ({ title }) => void executed.push(title), ...allows });
  const printed = ('allowDrop' in allows ? [...steps, ...drops] : steps).map(({ title }) => title);
  return { printed, executed };
}

for (const [says, files, formerBooks = books()] of some(CHANGES, 4))
  t.test(`a rolling upgrade under writes: ${says}`, async (t) => {
    const url = await undeclaredDatabase(t);
    const formerFiles = { books: formerBooks };
    const former = await serve(t, url, formerFiles);
    const author = (await send(former.base, 'POST', '/authors', { body: { name: 'Ann' } })).json.id;
    for (let n = 0; n < 5; n++)
      await send(former.base, 'POST', '/books', { body: { name: `b${n}`, price: n, note: 'y' } });
    const after = readDeclarations(folderOf(t, files));
    const writers = new Writers(targetOf(former.base, formerFiles), author, WRITERS);
    const written = async () => {
      const rounds = writers.rounds;
      await until('the writers go on', () => writers.rounds >= rounds + WRITERS);
    };
    t.teardown(() => writers.end().catch(() => undefined));
    await written();

    // The documents have the former values for as long as a former service runs.
    const expanded = await migrate(url, after);
    t.strictSame(expanded.executed, expanded.printed, 'the printed plan is what runs');
    t.ok(expanded.executed.length > 0);
    t.strictSame((await planCollections(url, after)).steps, [], 'nothing is left to do');
    t.strictSame(writers.unexpected.slice(0, 5), [], 'no client sees an error beside the migration');

    const present = await serve(t, url, files);
    const targets = [targetOf(former.base, formerFiles), targetOf(present.base, files)];
    writers.targets = targets;
    await written();
    t.strictSame(writers.unexpected.slice(0, 5), [], 'no client of either process sees an error');
    former.child.kill('SIGTERM');
    await until(
      'the former process drains',
      async () => (await send(former.base, 'GET', '/readyz')).status === 503,
    );
    writers.targets = targets.slice(1);
    t.equal(await former.ended, 0);
    t.strictSame(writers.unexpected.slice(0, 5), [], 'no client sees that the former process ends');

    const contracted = await migrate(url, after, { allowDrop: true, allowViolations: true });
    t.strictSame(contracted.executed, contracted.printed);
    await written();
    await writers.end();
    t.strictSame(writers.unexpected.slice(0, 5), [], 'no client sees an error when the rest is removed');
    const { steps, drops } = await planCollections(url, after);
    t.strictSame(
      [...steps, ...drops].map(({ title }) => title),
      [],
      'what the former service used is removed',
    );
  });
