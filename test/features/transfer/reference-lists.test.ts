import type { JsonObject } from '../../../src/json.js';
import t, { type Test } from '../../support/test.js';
import { importing } from './imports.js';

const ids = (to: string, onDelete: string) => ({
  type: 'array',
  maxItems: 50,
  items: { type: 'string', 'x-references': to, 'x-on-delete': onDelete },
});
const COLLECTIONS = {
  // Before the people, whose ids its records name.
  'tasks.json': {
    type: 'object',
    required: ['watchers'],
    properties: {
      title: { type: 'string', maxLength: 40, 'x-index': true },
      watchers: ids('people', 'remove'),
      blockers: ids('tasks', 'restrict'),
    },
  },
  'people.json': {
    type: 'object',
    properties: { name: { type: 'string', maxLength: 20 }, favourites: ids('tasks', 'restrict') },
  },
};

async function target(t: Test) {
  const { put, all, ...world } = await importing(t, COLLECTIONS);
  const records = async (name: string): Promise<JsonObject[]> =>
    (await all(`/${name}?sort=created_at&limit=100`)).data ?? all(`/${name}`);
  return { ...world, write: put, all: records };
}

t.test('old ids in arrays are replaced, also those of later records and of a cycle', async (t) => {
  const { write, run, all, send } = await target(t);
  const file = write('all.json', {
    tasks: [
      { id: 1, title: 'a', watchers: ['x', 'y'], blockers: [2, 3, 1] },
      { id: 2, title: 'b', watchers: [], blockers: [1] },
      { id: 3, title: 'c', watchers: ['y'] },
    ],
    people: [
      { id: 'x', name: 'Ann' },
      { id: 'y', name: 'Bob' },
    ],
  });
  t.match(await run('import', file), { code: 0, err: '' });
  const [tasks, people] = [await all('tasks'), await all('people')];
  const task = (title: string) => tasks.find((each) => each.title === title)!;
  const person = (name: string) => people.find((each) => each.name === name)!.id;
  t.same(task('a').watchers, [person('Ann'), person('Bob')]);
  t.same(task('a').blockers, [task('b').id, task('c').id, task('a').id]);
  const found = await send('GET', '/tasks?filter[watchers][some]=true&filter[blockers][some][title]=c');
  t.equal((found.json.data ?? found.json).length, 1);
  t.match(await send('DELETE', `/tasks/${task('c').id}`), { status: 409 });
  t.match(await send('DELETE', `/people/${person('Bob')}`), { status: 204 });
});

t.test('a record that names a missing or a refused one is refused, with the place', async (t) => {
  const { write, run, all } = await target(t);
  const missing = '00000000-0000-7000-8000-000000000000';
  const file = write('all.json', {
    people: [
      { id: 'x', name: 'Ann' },
      { id: 'y', name: 'a name that is too long for a person' },
    ],
    tasks: [
      { id: 1, title: 'good', watchers: ['x'] },
      { id: 2, title: 'missing', watchers: ['x', missing] },
      { id: 3, title: 'unknown', watchers: ['x', 'x', 'z'] },
      { id: 4, title: 'refused', watchers: ['y'] },
      { id: 5, title: 'refers to a refused one', watchers: [], blockers: [1, 4] },
    ],
  });
  const { code, err } = await run('import', file);
  t.equal(code, 1);
  for (const at of [1, 2]) t.match(err, `watchers/${at}: PEOPLE_NOT_FOUND`);
  t.equal((await all('tasks')).map(({ title }) => title).join(), 'good');
});

t.test('an export, imported into an empty database, is the same', async (t) => {
  const first = await target(t);
  const { send } = first;
  const create = async (path: string, body: JsonObject) => (await send('POST', path, { body })).json.id;
  const people = [await create('/people', { name: 'Ann' }), await create('/people', { name: 'Bob' })];
  const task = await create('/tasks', { title: 'a', watchers: people });
  await create('/tasks', { title: 'b', watchers: [people[1], people[0]], blockers: [task] });
  const own = await create('/tasks', { title: 'c', watchers: [] });
  await send('PATCH', `/tasks/${own}`, { body: { blockers: [own, task] } });
  const exported = async (from: Pick<typeof first, 'run'>, ...args: string[]) => {
    const { code, out } = await from.run('export', ...args);
    t.equal(code, 0);
    return out;
  };
  const all = await exported(first);
  t.ok(all.includes(task));
  const other = await target(t);
  for (const says of ['into an empty database', 'again']) {
    t.match(await other.run('import', other.write('all.json', all), '--keep-ids'), { code: 0 }, says);
    t.equal(await exported(other), all, says);
  }
});
