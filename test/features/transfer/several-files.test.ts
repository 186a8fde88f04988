import t from '../../support/test.js';
import { importing, inferring } from './imports.js';

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
    const from = await importing(t, MUTUAL);
    const team = (await from.send('POST', '/teams', { body: { name: 'A' } })).json.id;
    await from.send('POST', '/players', { body: { name: 'P', teamId: team } });
    const to = await importing(t, MUTUAL);
    const exported = async ({ run, read }: Pick<typeof from, 'run' | 'read'>, name: string) => {
      t.equal((await run('export', name, '-o', `exported.${format}`)).code, 0);
      return read(`exported.${format}`);
    };
    const [teams, players] = [await exported(from, 'teams'), await exported(from, 'players')];
    const args = [to.put(`teams.${format}`, teams), `players=${to.put(`2.${format}`, players)}`];
    const imported = (...more: string[]) => to.load([...args, ...more]);
    t.match(await imported('--dry-run'), { code: 0, out: 'teams: 1 valid, 0 refused\nplayers: 1 valid' });
    t.match(await imported(), { code: 0, out: 'teams: 1 stored, 0 refused\nplayers: 1 stored, 0 refused' });
    t.match(await imported('--keep-ids'), { code: 0, out: /teams: 0 stored, 0 refused, 1 unchanged/ });
    t.same([await exported(to, 'teams'), await exported(to, 'players')], [teams, players]);
  });

t.test('several files are declared and imported together, and each names its collection', async (t) => {
  const { load } = await inferring(t, {
    'authors.csv': 'id,name,best\n1,Ann,7\n2,Bob,\n',
    'books.ndjson': '{"id": 7, "title": "T", "authorId": 1}\n',
    'rest.json': '{"shops": [{"name": "S"}]}',
    'Other Name.csv': 'name\nx\n',
  });
  const run = (...args: string[]) => load(args);
  t.match(await run('authors.csv', 'books.ndjson', 'rest.json', '--infer', '--rename', 'best=favourite'), {
    code: 0,
    out: /authorId refers to authors.*authors: 2 stored, 0 refused.*shops: 1 stored, 0 refused/s,
  });
  const refused: [args: string[], message: RegExp][] = [
    [['authors.csv', 'authors=rest.csv'], /rest\.csv cannot be read/],
    [['authors.csv', 'authors=books.ndjson'], /authors\.csv and books\.ndjson both hold records of authors/],
    [['authors.csv', 'Other Name.csv'], /Other Name\.csv holds records of one collection: is its name m/],
    [['--as', 'authors', 'authors.csv', 'books.ndjson'], /name one file, or several without a collection/],
    [['authors', 'authors.csv', 'books.ndjson'], /authors cannot be read/],
  ];
  for (const [args, message] of refused) t.match(await run(...args), { code: 64, err: message }, `${args}`);
  t.match(await run('authors', 'Other Name.csv'), { code: 0, out: 'authors: 1 stored' });
  t.match(await run('authors=Other Name.csv'), { code: 0, out: 'authors: 1 stored' });
});
