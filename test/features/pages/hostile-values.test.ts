import { declare } from '../../support/collections.js';
import { testService } from '../../support/service.js';
import t, { type Test } from '../../support/test.js';
import { words } from '../../support/words.js';
import { linksOf, PageVisitor } from './visitor.js';

const reference = { type: 'string', 'x-references': 'teams', 'x-on-delete': 'null' };

const references = (to: string) => ({
  type: 'array',
  maxItems: 1000,
  items: { type: 'string', 'x-references': to, 'x-on-delete': 'remove' },
});

const collection = (title: string, properties: object, options: object = {}) => ({
  ...{ title, type: 'object', properties },
  'x-collection': { list: 'page', ...options },
});
const text = { type: 'string' };
const indexed = { ...text, 'x-index': true };
const COLLECTIONS = {
  'crews.json': collection('Crew', { name: indexed }),
  'teams.json': collection('Team', { name: text }, { display: 'name' }),
  'plans.json': collection('Plan', {
    ...{ note: text, title: indexed, state: { ...indexed, enum: ['new', 'old', 'gone'] } },
    ...{
      teamId: { ...reference, 'x-index': true },
      teamIds: references('teams'),
      crewIds: references('crews'),
    },
  }),
  'scraps.json': collection('Scrap', {}),
};

/** A service with teams, plans of teams, and records without a declared field, and a browser. */
async function planner(t: Test) {
  const service = await testService(t, { COLLECTIONS: declare(t, COLLECTIONS), MIGRATE: 'auto' });
  const make = async (path: string, body: object) => (await service.send('POST', path, { body })).json;
  const visitor = new PageVisitor(service);
  const create = async (values: Record<string, string | string[]>) => visitor.create(t, '/plans', values);
  return { service, make, visitor, create };
}

t.test('a long name is cut on each page that repeats it', async (t) => {
  const { make, visitor } = await planner(t);
  const { id } = await make('/teams', { name: '&'.repeat(60_000) });
  const plan = await make('/plans', { title: 'a', teamId: id, teamIds: [id] });
  const pages = words(`
    /plans /plans?_new /plans?_filter /plans?_export=csv /plans?group=teamId
    /plans?filter[teamId]=${id} /plans/${plan.id} /plans/${plan.id}?_edit
  `);
  for (const path of pages) {
    const { status, text } = await visitor.get(path);
    t.equal(status, 200, path);
    t.ok(text.length < 60_000, path);
  }
  const form = await visitor.get(`/plans/${plan.id}?_edit`);
  t.match(form.text, `value="${id}"`, 'a form has the id in place of a name that it does not find');
});

t.test('a form looks up a bounded number of names, and no long one', async (t) => {
  const { make, create } = await planner(t);
  const names = Array.from({ length: 301 }, (_, at) => `crew ${at}`);
  for (const name of names) await make('/crews', { name });
  const many = await create({ '/title': 'x', '/crewIds': names });
  t.match(many, { status: 400, text: /the form has more than 300 names/ });
  const repeated = await create({ '/title': 'x', '/crewIds': [...names.slice(1), 'crew 1'] });
  t.notMatch(repeated.text, 'more than 300 names', 'a name is looked up once');
  const long = await create({ '/title': 'x', '/teamId': 'x'.repeat(100_000) });
  t.match(long.text, /no team is called “x{200}… \(99800 more characters\)”/);
});

t.test('a name that looks like an id does not stand for another record', async (t) => {
  const { service, make, visitor } = await planner(t);
  const other = await make('/teams', { name: 'Other' });
  const team = await make('/teams', { name: other.id });
  const third = await make('/teams', { name: 'Third' });
  const plan = await make('/plans', { title: 'a', teamIds: [team.id] });
  const form = await visitor.get(`/plans/${plan.id}?_edit`);
  const saved = await visitor.submit(t, form, 'Save', { '/teamIds': [team.id, 'Third'] });
  t.equal(saved.status, 303);
  t.notMatch(form.text, `value="${other.id}"`, 'the name');
  t.match((await service.send('GET', `/plans/${plan.id}`)).json, { teamIds: [team.id, third.id] });
  const missing = '00000000-0000-7000-8000-000000000000';
  const again = await visitor.get(`/plans/${plan.id}?_edit`);
  const refused = await visitor.submit(t, again, 'Save', { '/teamIds': [missing] });
  t.match(refused, { status: 400, text: 'id="edit-teamIds-error"' });
});

t.test('an export has the records of each alternative of a filter, and all of them', async (t) => {
  const { make, visitor } = await planner(t);
  for (let at = 0; at < 101; at++) await make('/plans', { state: at === 0 ? 'old' : 'new' });
  await make('/plans', { state: 'gone' });
  const chosen = '/plans?filter[state][in]=old&filter[state][in]=new';
  const link = linksOf(await visitor.text(chosen)).find((href) => href.includes('_export=json'))!;
  t.equal((await visitor.get(link)).json.length, 101);
  t.equal((await visitor.get('/plans?_export=json&count=none')).json.length, 102);
  const note = 'x'.repeat(300_000);
  for (let at = 0; at < 5; at++) await make('/plans', { note, state: 'gone' });
  t.equal((await visitor.get('/plans?_export=json')).json.length, 107, 'a page is too large for memory');
  const csv = await visitor.get('/plans?_export=csv');
  t.equal(csv.text.trim().split('\r\n').length, 108);
});

t.test('a form of several records names one of their fields, or deletes them', async (t) => {
  const { service, make, visitor } = await planner(t);
  const plan = await make('/plans', { note: 'remains' });
  const list = await visitor.get('/plans');
  for (const _field of ['/gone', '__proto__', '*', '']) {
    for (const own of [{ _bulk: 'PATCH' }, { _method: 'PATCH', _etag: '*' }]) {
      const refused = await visitor.submit(t, list, 'Delete…', { _id: plan.id, _field, ...own });
      t.equal(refused.status, 400, `${_field} ${JSON.stringify(own)}`);
    }
  }
  t.match((await service.send('GET', `/plans/${plan.id}`)).json, { note: 'remains' });
  const filtered = await visitor.get(`/plans?filter[id]=${plan.id}`);
  for (const _method of ['PATCH', 'DELETE']) {
    const { status } = await visitor.submit(t, filtered, 'Delete…', { _method, _etag: '*' });
    t.ok(status >= 400 && status < 500, `${_method} by the filter of the list, without chosen records`);
  }
  t.match((await service.send('GET', `/plans/${plan.id}`)).json, { note: 'remains' });
  const scrap = await make('/scraps', { odd: 1 });
  const scraps = await visitor.get('/scraps');
  const confirmed = await visitor.submit(t, scraps, 'Delete…', { _id: scrap.id, _bulk: 'DELETE' });
  t.equal((await visitor.submit(t, confirmed, 'Delete 1 scrap')).status, 303);
  t.equal((await service.send('GET', `/scraps/${scrap.id}`)).status, 404);
});
