import type { JsonObject } from '../../src/json.js';
import { PageVisitor } from '../features/pages/visitor.js';
import { openForCallers } from '../support/callers.js';
import { makeKey } from '../support/credentials.js';
import { ADMIN, text, withAccess } from '../support/declared.js';
import t, { type Test } from '../support/test.js';

const ids = (to: string, onDelete = 'remove') => ({
  type: 'array',
  maxItems: 50,
  items: { type: 'string', 'x-references': to, 'x-on-delete': onDelete },
});

const DECLARATIONS = {
  'people.json': withAccess(
    { account: text, name: text, isPublic: { type: 'boolean', 'x-index': true } },
    [{ can: 'read', where: { isPublic: true } }, { can: 'all', where: { account: '$caller' } }, ADMIN],
    { list: 'page' },
  ),
  // A record is that of the people who watch it, and of those who watch one that names it.
  'papers.json': withAccess(
    { title: text, watchers: ids('people'), sources: ids('papers'), reviewers: ids('people') },
    [
      { can: ['read', 'update', 'create'], where: { watchers: { some: { account: '$caller' } } } },
      {
        can: 'read',
        where: { papers: { some: { watchers: { some: { account: '$caller' } } } } },
        fields: ['title'],
      },
      ADMIN,
    ],
    { list: 'page' },
  ),
};

async function papers(t: Test) {
  const { service, as, admin: asRoot, made: make } = await openForCallers(t, DECLARATIONS);
  const ann = await make('/people', { account: 'ann', name: 'Ann', isPublic: true });
  const bob = await make('/people', { account: 'bob', name: 'Bob', isPublic: false });
  const source = await make('/papers', { title: 'source', reviewers: [bob, ann] });
  const paper = await make('/papers', { title: 'paper', watchers: [bob, ann], sources: [source] });
  const other = await make('/papers', { title: 'other', watchers: [bob], reviewers: [ann] });
  const callers = { asRoot, asAnn: await as('ann', 'self'), asBob: await as('bob', 'self') };
  return { service, ann, bob, source, paper, other, make, ...callers };
}

const titlesIn = ({ json }: { json: JsonObject }) =>
  (json.data as JsonObject[]).map(({ title }) => title).sort();

t.test('rules over arrays of references decide which records and fields there are', async (t) => {
  const { asAnn, asBob, asRoot, source, paper } = await papers(t);
  t.same(titlesIn(await asAnn('GET', '/papers')), ['paper', 'source']);
  t.same(titlesIn(await asBob('GET', '/papers')), ['other', 'paper', 'source']);
  t.same(titlesIn(await asRoot('GET', '/papers')), ['other', 'paper', 'source']);
  const shown = (await asAnn('GET', `/papers/${source}`)).json;
  t.notOk('reviewers' in shown, 'a hidden field');
  // Conditions treat a hidden array as an empty one.
  for (const [filter, expected] of [
    ['filter[reviewers][some]=true', []],
    ['filter[reviewers][none]=true', ['paper', 'source']],
    ['filter[reviewers][some][name]=Ann', []],
    ['filter[watchers][some][name]=Ann', ['paper']],
    ['filter[sources][some][title]=source', ['paper']],
    ['filter[papers][some][title]=paper', ['source']],
    // Ann may not read Bob, about whose record no condition holds.
    ['filter[watchers][some][name]=Bob', []],
    ['filter[watchers][every][name]=Ann', ['paper', 'source']],
  ] as const)
    t.same(titlesIn(await asAnn('GET', `/papers?${filter}`)), expected, filter);
  t.same(titlesIn(await asRoot('GET', '/papers?filter[reviewers][some][name]=Bob')), ['source']);
  const counted = await asAnn('GET', '/people?filter[papers][some][title]=source');
  t.same(counted.json.data, [], 'backwards as well');
  t.equal((await asAnn('GET', `/papers/${paper}`)).status, 200);
});

t.test('includes show the related records that the caller may read', async (t) => {
  const { asAnn, asRoot, paper, source, ann, bob } = await papers(t);
  const included = async (of: typeof asAnn, path: string) => (await of('GET', path)).json;
  const idsOf = (records: JsonObject[]) => records.map(({ id }) => id);
  for (const [of, expected] of [
    [asAnn, [ann]],
    [asRoot, [bob, ann]],
  ] as const) {
    const one = await included(of, `/papers/${paper}?include=watchers,sources,papers.count`);
    t.same(idsOf(one._included.watchers), expected);
    t.same(idsOf(one._included.sources), [source]);
    const list = await included(of, '/papers?include=watchers&sort=title');
    const found = list.data.find(({ id }: JsonObject) => id === paper);
    t.same(idsOf(found._included.watchers), expected);
  }
  const hidden = await included(asAnn, `/papers/${source}?include=reviewers,papers,papers.count`);
  t.same(hidden._included, { reviewers: [], papers: hidden._included.papers, 'papers.count': 1 });
  t.same(idsOf(hidden._included.papers), [paper]);
  // `papers` of a person are those that name it in a field that the caller may read.
  const people = await included(asAnn, `/people/${ann}?include=papers,papers.count`);
  t.same(people._included['papers.count'], 1);
  t.same(idsOf(people._included.papers), [paper]);
  t.equal((await included(asRoot, `/people/${ann}?include=papers.count`))._included['papers.count'], 3);
});

t.test('a write names records that the caller may read', async (t) => {
  const { service, asAnn, asBob, asRoot, ann, bob, source, paper, make } = await papers(t);
  const missing = '00000000-0000-7000-8000-000000000000';
  const carl = await make('/people', { account: 'carl', name: 'Carl', isPublic: true });
  for (const id of [bob, missing]) {
    const { status, json } = await asAnn('POST', '/papers', { title: 'new', watchers: [ann, id] });
    t.match([status, json.error], [422, { code: 'PEOPLE_NOT_FOUND', details: { path: '/watchers/1' } }]);
    const operations = [{ method: 'POST', path: '/papers', body: { watchers: [ann, id] } }];
    t.match((await asAnn('POST', '/batch', operations as never)).text, /PEOPLE_NOT_FOUND/);
  }
  t.equal((await asAnn('POST', '/papers', { title: 'new', watchers: [ann, carl] })).status, 201);
  t.equal((await asAnn('POST', '/papers', { title: 'of others', watchers: [carl] })).status, 403);
  // An id that the record has already may stay.
  t.equal((await asAnn('PATCH', `/papers/${paper}`, { watchers: [bob, ann, carl] })).status, 200);
  const { key } = await makeKey(service.db, { subject: 'ann', scopes: ['self'] });
  const visitor = new PageVisitor(service, { 'x-api-key': key });
  const edit = (...watchers: string[]) => visitor.save(t, `/papers/${paper}`, { '/watchers': watchers });
  t.equal((await edit(bob, 'Carl', 'Ann')).status, 303);
  for (const id of [source, missing])
    t.match(await edit(bob, id), { status: 400, text: /Watchers<\/a>: No such people exists\./ });
  const hidden = await asAnn('PATCH', `/papers/${paper}`, { reviewers: [carl, bob] });
  t.match([hidden.status, hidden.json.error.details], [422, { path: '/reviewers/1' }]);
  t.equal((await asBob('PATCH', `/papers/${paper}`, { reviewers: [carl, bob] })).status, 200);
  t.equal((await asRoot('DELETE', `/people/${bob}`)).status, 204);
  t.same((await asAnn('GET', `/papers/${paper}`)).json.watchers, [carl, ann]);
});
