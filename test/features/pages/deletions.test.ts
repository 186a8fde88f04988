import { declare } from '../../support/collections.js';
import { byPassword, PASSWORD } from '../../support/credentials.js';
import { whenEventsAreFinal } from '../../support/final-events.js';
import { testService } from '../../support/service.js';
import t, { type Test } from '../../support/test.js';
import { linksOf, PageVisitor } from './visitor.js';

const text = { type: 'string', maxLength: 100, 'x-index': true };
const to = (collection: string, onDelete = 'cascade') => ({
  ...{ type: 'string', 'x-references': collection, 'x-on-delete': onDelete },
});
const collection = (title: string, properties: object, options: object = {}) => ({
  ...{ title, type: 'object', properties: { name: text, ...properties } },
  'x-collection': { list: 'page', display: 'name', ...options },
});

/** Two ways lead from a comment to a team, and pages and parts have a tree each. */
const COLLECTIONS = {
  'teams.json': collection('Team', {}),
  'projects.json': collection('Project', { teamId: to('teams'), leadId: to('people', 'null') }),
  'people.json': collection('Person', { teamId: to('teams') }),
  'issues.json': collection('Issue', { projectId: to('projects') }),
  'comments.json': collection('Comment', { issueId: to('issues'), authorId: to('people') }),
  'invoices.json': collection('Invoice', { projectId: to('projects', 'restrict') }),
  'parts.json': collection('Part', { partId: to('parts') }),
};

async function company(t: Test) {
  const folder = declare(t, COLLECTIONS);
  const service = await testService(t, { COLLECTIONS: folder, MIGRATE: 'auto' });
  const make = async (path: string, body: object): Promise<string> =>
    (await service.send('POST', path, { body: { name: 'x', ...body } })).json.id;
  const teamId = await make('/teams', { name: 'Core' });
  const person = await make('/people', { teamId });
  const projects = [await make('/projects', { teamId }), await make('/projects', { leadId: person })];
  const issues: string[] = [];
  for (const projectId of [...projects, ...projects]) issues.push(await make('/issues', { projectId }));
  await make('/comments', { issueId: issues[0]!, authorId: person });
  await make('/comments', { issueId: issues[1]!, authorId: person });
  await make('/comments', { issueId: issues[1]! });
  return { folder, service, make, teamId, person, projects, issues, visitor: new PageVisitor(service) };
}

/** The effects that a page names. */
const effectsIn = (page: string) =>
  [...page.matchAll(/<li>([^<]*: (?:deleted|the deletion|without)[^<]*)<\/li>/g)]
    .map(([, effect]) => effect)
    .sort();

t.test('the page of a deletion counts all that cascades, each record once', async (t) => {
  const { service, make, teamId, person, projects, issues, visitor } = await company(t);
  const effectsOf = async (path: string) => effectsIn(await visitor.text(`${path}?_delete`));
  const ofTeam = [
    'Comments (2): deleted as well',
    'Issues (2): deleted as well',
    'People (1): deleted as well',
    'Projects (1): deleted as well',
  ];
  const page = await visitor.get(`/teams/${teamId}?_delete`);
  t.same(effectsIn(page.text), ofTeam);
  await service.send('PATCH', `/teams/${teamId}`, { body: { name: 'Other' } });
  const refused = await visitor.submit(t, page, 'Delete this team');
  t.equal(refused.status, 412);
  t.same(effectsIn(refused.text), ofTeam, 'also after a change by another request');
  const ofPerson = ['Comments (2): deleted as well', 'Projects (1): without the reference afterwards'];
  t.same(await effectsOf(`/people/${person}`), ofPerson);
  await make('/invoices', { projectId: projects[0] });
  t.ok(
    (await effectsOf(`/teams/${teamId}`)).includes(
      'Invoices (1): the deletion is refused as long as they exist',
    ),
    'what refuses a cascade',
  );
  t.same(await effectsOf(`/comments/${issues[0]}`), []);
  const list = await visitor.get('/issues');
  const several = { _id: [issues[0]!, issues[1]!], _bulk: 'DELETE' };
  const { text } = await visitor.submit(t, list, 'Delete…', several);
  t.match(text, '<h1>Delete 2 issues</h1>');
  t.same(effectsIn(text), ['Comments (3): deleted as well'], 'of all chosen ones');
});

t.test('cascades are followed as far as filters lead, and the page says that more may follow', async (t) => {
  const { make, visitor } = await company(t);
  const root = await make('/parts', {});
  let partId = root;
  t.same(effectsIn(await visitor.text(`/parts/${root}?_delete`)), []);
  for (let depth = 1; depth <= 6; depth++) partId = await make('/parts', { partId });
  t.same(effectsIn(await visitor.text(`/parts/${root}?_delete`)), [
    'And what belongs to these: deleted as well',
    'Parts (4): deleted as well',
  ]);
});

t.test('a deletion says that more may follow where the caller may not read all', async (t) => {
  const { folder, service, teamId } = await company(t);
  const body = { email: 'ann@example.org', name: 'Ann', password: PASSWORD };
  await service.send('POST', '/users', { body });
  const scopes = 'teams:write people:read projects:read comments:read';
  const limited = await testService(t, {
    ...{ COLLECTIONS: folder, DATABASE_URL: service.databaseUrl },
    ...{ AUTH: 'basic,api-key', INSECURE: 'basic', BASIC_SCOPES: scopes },
  });
  const visitor = new PageVisitor(limited, byPassword('ann@example.org', PASSWORD));
  t.same(effectsIn(await visitor.text(`/teams/${teamId}?_delete`)), [
    'And what belongs to these: deleted as well',
    'People (1): deleted as well',
    'Projects (1): deleted as well',
  ]);
});

t.test('a deleted record has its last known name among the changes, and no link', async (t) => {
  const { service, visitor, make } = await company(t);
  const id = await make('/teams', { name: 'Gone' });
  await service.send('PATCH', `/teams/${id}`, { body: { name: 'Gone soon' } });
  await service.send('DELETE', `/teams/${id}`);
  await whenEventsAreFinal(service);
  for (const path of ['/', '/events']) {
    const page = await visitor.text(path);
    t.match(page, /deleted Gone soon<br>/, path);
    t.match(page, /updated Gone soon<br>/, path);
    t.notOk(
      linksOf(page).some((href) => href.startsWith(`/teams/${id}`)),
      path,
    );
  }
  const alone = await visitor.text('/events?types=teams.deleted');
  t.match(alone, /deleted a record of teams<br>/, 'a name that no event shows is not known');
});
