import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { declare } from '../../support/collections.js';
import { plinth } from '../../support/command.js';
import { folderOf } from '../../support/folder.js';
import { testService, undeclaredDatabase } from '../../support/service.js';
import t from '../../support/test.js';

const record = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });
const to = (collection: string, more: object = {}) => ({
  type: 'string',
  'x-references': collection,
  ...more,
});
/** Collections of which each refers to the other one. */
const MUTUAL = {
  'teams.json': record({
    name: { type: 'string' },
    captainId: to('players', { 'x-on-delete': 'null' }),
  }),
  'players.json': record({ name: { type: 'string' }, teamId: to('teams') }, { required: ['teamId'] }),
};

for (const format of ['csv', 'ndjson', 'json'])
  t.test(`collections that refer to each other are imported from their export: ${format}`, async (t) => {
    const COLLECTIONS = declare(t, MUTUAL);
    const { send, databaseUrl } = await testService(t, { COLLECTIONS, MIGRATE: 'auto' });
    const team = (await send('POST', '/teams', { body: { name: 'A' } })).json.id;
    await send('POST', '/players', { body: { name: 'P', teamId: team } });
    const cwd = folderOf(t);
    const exported = async (url: string, name: string) => {
      const args = ['export', name, '-o', `exported.${format}`];
      t.equal((await plinth(t, args, { COLLECTIONS, DATABASE_URL: url }, { cwd })).code, 0);
      return readFileSync(join(cwd, `exported.${format}`), 'utf8');
    };
    const files: Record<string, string> = {};
    for (const name of ['teams', 'players']) {
      files[name] = await exported(databaseUrl, name);
      renameSync(join(cwd, `exported.${format}`), join(cwd, `${name}.${format}`));
    }
    renameSync(join(cwd, `players.${format}`), join(cwd, `2.${format}`));
    const env = { COLLECTIONS, DATABASE_URL: await undeclaredDatabase(t), MIGRATE: 'auto' };
    const imported = (...more: string[]) =>
      plinth(t, ['import', `teams.${format}`, `players=2.${format}`, ...more], env, { cwd });
    t.match(await imported('--dry-run'), { code: 0, out: 'teams: 1 valid, 0 refused\nplayers: 1 valid' });
    t.match(await imported(), { code: 0, out: 'teams: 1 stored, 0 refused\nplayers: 1 stored, 0 refused' });
    t.match(await imported('--keep-ids'), { code: 0, out: /teams: 0 stored, 0 refused, 1 unchanged/ });
    for (const name of ['teams', 'players']) t.equal(await exported(env.DATABASE_URL, name), files[name]);
  });

t.test('several files are declared and imported together, and each names its collection', async (t) => {
  const cwd = folderOf(t);
  const put = (name: string, text: string) => writeFileSync(join(cwd, name), text);
  put('authors.csv', 'id,name,best\n1,Ann,7\n2,Bob,\n');
  put('books.ndjson', '{"id": 7, "title": "T", "authorId": 1}\n');
  put('rest.json', '{"shops": [{"name": "S"}]}');
  put('Other Name.csv', 'name\nx\n');
  const env = { DATABASE_URL: await undeclaredDatabase(t) };
  const run = (...args: string[]) => plinth(t, ['import', ...args], env, { cwd });
  t.match(await run('authors.csv', 'books.ndjson', 'rest.json', '--infer', '--rename', 'best=favourite'), {
    code: 0,
    out: /authorId refers to authors.*authors: 2 stored, 0 refused.*shops: 1 stored, 0 refused/s,
  });
  const refused: [args: string[], message: RegExp][] = [
    [['authors.csv', 'authors=rest.csv'], /rest\.csv cannot be read/],
    [['authors.csv', 'authors=books.ndjson'], /authors\.csv and books\.ndjson both hold records of authors/],
    [
      ['authors.csv', 'Other Name.csv'],
      /Other Name\.csv holds records of one collection: is its name missing/,
    ],
    [['--as', 'authors', 'authors.csv', 'books.ndjson'], /name one file, or several without a collection/],
    [['authors', 'authors.csv', 'books.ndjson'], /authors cannot be read/],
  ];
  for (const [args, message] of refused) t.match(await run(...args), { code: 64, err: message }, `${args}`);
  t.match(await run('authors', 'Other Name.csv'), { code: 0, out: 'authors: 1 stored' });
  t.match(await run('authors=Other Name.csv'), { code: 0, out: 'authors: 1 stored' });
});
