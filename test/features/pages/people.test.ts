import { valuesOf } from '../../support/callers.js';
import { declare } from '../../support/collections.js';
import { type TestService, testService } from '../../support/service.js';
import t from '../../support/test.js';
import { until } from '../../support/until.js';
import { tracker } from './collections.js';
import { linksOf, PageVisitor } from './visitor.js';

t.jobs = 2;

const issuesOf = async (service: TestService) => (await service.send('GET', '/issues?limit=100')).json;

t.test('records are known by their names, in lists, records, forms, filters and changes', async (t) => {
  const { service, user, project, other, issue, visitor, make } = await tracker(t);
  const link = `<a href="/projects/${project.id}">Checkout redesign</a>`;
  const list = await visitor.get('/issues');
  t.match(list.text, `<th scope="row"><a href="/issues/${issue.id}">Labels</a></th>`);
  t.match(list.text, link);
  t.notMatch(list.text.replaceAll(/(href|value)="[^"]*"/g, ''), /[\da-f]{8}-[\da-f]{4}-7/, 'no id is a text');
  await service.send('PATCH', `/issues/${issue.id}`, { body: { projectId: other.id } });
  const record = await visitor.get(`/issues/${issue.id}`);
  t.match(record.text, `<a href="/users/${user.id}">Ada</a>`);
  t.match(record.text, /Project: <a [^>]*>Checkout redesign<\/a>\s*→ <a [^>]*>Blog &#60;b&#62;<\/a>/);
  const form = await visitor.get(`/issues/${issue.id}?_edit`);
  t.match(form.text, /name="\/projectId"[^>]* value="Blog &#60;b&#62;"/);
  t.match(form.text, '<option value="Checkout redesign">');
  t.match(form.text, /name="\/watcherIds" aria-label="Watchers 1"[^>]* value="Ada"/);
  const unchanged = await visitor.submit(t, form, 'Save');
  t.equal(unchanged.status, 303);
  const stored = (await service.send('GET', `/issues/${issue.id}`)).json;
  t.match(stored, { projectId: other.id, watcherIds: [user.id] }, 'a name is no change');
  const filter = await visitor.get('/issues?_filter');
  t.match(filter.text, /name="filter\[projectId\]\[in\]" value="[^"]*"> Checkout redesign</);
  const several = `filter[projectId][in]=${project.id}&filter[projectId][in]=${other.id}`;
  const again = await visitor.get(`/issues?${several}&_filter=1`);
  const boxes = again.text.match(/name="filter\[projectId\]\[in\]" value="[^"]*" checked/g);
  t.equal(boxes?.length, 2, 'both stay chosen');
  const chosen = await visitor.get(`/issues?filter[projectId][in]=${other.id}`);
  t.match(chosen.text, 'Project: Blog &#60;b&#62;');
  await make('/notes', { issueId: issue.id, text: 'Seen on two printers' });
  t.match(await visitor.text(`/issues/${issue.id}`), 'Seen on two printers');
});

/** Names of a reference in a form, with what comes of each. */
const NAMES: readonly (readonly [entered: string, result: RegExp])[] = [
  ['Checkout redesign', /^303$/],
  ['checkout REDESIGN', /^303$/],
  ['Chekout redesin', /no project is called “Chekout redesin”: choose one, or enter another name\./],
  ['Twice', /several projects are called “Twice”: choose one/],
  ['zzz', /no project is called “zzz”\./],
  ['00000000-0000-7000-8000-000000000000', /No such project exists\./],
];

t.test('a reference is entered by name: exact, near, of several records, of none', async (t) => {
  const { make, visitor } = await tracker(t);
  const twice = [await make('/projects', { name: 'Twice' }), await make('/projects', { name: 'Twice' })];
  for (const [entered, result] of NAMES) {
    const values = { '/title': 'x', '/projectId': entered };
    const response = await visitor.create(t, '/issues', values);
    t.match(response.status === 303 ? '303' : response.text, result, entered);
    if (entered !== 'Twice') continue;
    for (const { id } of twice) t.match(response.text, `<option value="${id}">Twice</option>`);
    const again = await visitor.submit(t, response, 'Create', { '/projectId': twice[1].id });
    t.equal(again.status, 303);
  }
});

t.test('faults of the form, the schema and references are reported together', async (t) => {
  const { service, visitor, issue } = await tracker(t);
  const values = { '/title': '', '/projectId': 'nowhere', '/priority': '9', '/dueOn': 'soon' };
  const refused = await visitor.create(t, '/issues', values);
  t.equal(refused.status, 400);
  t.match(refused.text, 'Not saved yet:');
  for (const name of ['title', 'projectId', 'priority', 'dueOn'])
    t.match(refused.text, `id="new-${name}-error"`, name);
  const edit = await visitor.get(`/issues/${issue.id}?_edit`);
  const both = await visitor.submit(t, edit, 'Save', { '/projectId': 'nowhere', '/priority': '9' });
  for (const name of ['projectId', 'priority']) t.match(both.text, `id="edit-${name}-error"`, name);
  t.equal((await issuesOf(service)).meta.total, 1);
});

t.test('a form that is submitted twice makes one record, and a changed one may make another', async (t) => {
  const { service, visitor } = await tracker(t);
  const form = await visitor.get('/projects?_new');
  const [first, second] = await Promise.all([
    visitor.submit(t, form, 'Create', { '/name': 'Once' }),
    visitor.submit(t, form, 'Create', { '/name': 'Once' }),
  ]);
  t.equal(first.headers.location, second.headers.location);
  t.equal((await service.send('GET', '/projects?page=1')).json.meta.total, 3);
  const changed = await visitor.submit(t, form, 'Create', { '/name': 'Other' });
  t.match(changed.text, 'This form has created a record before.');
  t.equal((await visitor.submit(t, changed, 'Create')).status, 303);
  t.equal((await service.send('GET', '/projects?page=1')).json.meta.total, 4);
});

t.test('chosen records are changed and deleted together, after a page that names them', async (t) => {
  const { service, visitor, make, project } = await tracker(t);
  for (const title of ['a', 'b', 'c']) await make('/issues', { title, projectId: project.id });
  const { data } = await issuesOf(service);
  const ids = data.slice(1).map(({ id }: { id: string }) => id);
  const list = await visitor.get('/issues?sort=title&order=asc&_done=saved');
  const confirm = (values: Record<string, string | string[]>) =>
    visitor.submit(t, list, 'Delete…', { _id: ids, ...values });
  const change = await confirm({ _bulk: 'PATCH', _field: '/status' });
  t.match(change.text, /<h1>Change 3 issues<\/h1>[\s\S]*<li>a<\/li><li>b<\/li><li>c<\/li>/);
  t.notMatch(change.text, 'Remove the value', 'the status has a default');
  t.match((await visitor.submit(t, change, 'Change 3 issues')).text, 'Enter a value for the field.');
  t.same(valuesOf((await issuesOf(service)).data, '_version'), [1, 1, 1, 1]);
  const changed = await visitor.submit(t, change, 'Change 3 issues', { '/status': 'closed' });
  const location = '/issues?sort=title&order=asc&_done=saved';
  t.match(changed, { status: 303, headers: { location } });
  t.match(await visitor.text(changed.headers.location as string), 'Saved.');
  const after = (await issuesOf(service)).data;
  t.same(valuesOf(after, 'status'), ['open', 'closed', 'closed', 'closed']);
  const invalid = await confirm({ _bulk: 'PATCH', _field: '/priority' });
  t.match((await visitor.submit(t, invalid, 'Change 3 issues', { '/priority': '9' })).text, 'role="alert"');
  for (const [value, priority] of [
    [{ '/priority': '2' }, 2],
    [{ _remove: 'on' }, undefined],
  ] as const) {
    t.equal((await visitor.submit(t, invalid, 'Change 3 issues', value)).status, 303);
    t.equal((await issuesOf(service)).data[1].priority, priority);
  }
  const deletion = await confirm({ _bulk: 'DELETE' });
  t.equal((await issuesOf(service)).meta.total, 4, 'nothing is deleted before');
  t.equal((await visitor.submit(t, deletion, 'Delete 3 issues')).status, 303);
  t.equal((await issuesOf(service)).meta.total, 1);
  t.match((await visitor.submit(t, list, 'Delete…', { _bulk: 'DELETE' })).text, 'Nothing to delete');
});

t.test('a day on which a record was due says so in words, unless the record is closed', async (t) => {
  const { visitor, make, project } = await tracker(t);
  const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
  const issue = { projectId: project.id, dueOn: day(-2) };
  const late = await make('/issues', { ...issue, title: 'late' });
  await make('/issues', { ...issue, title: 'closed', status: 'closed' });
  await make('/issues', { ...issue, title: 'soon', dueOn: day(2) });
  const overdue = (text: string) =>
    text.match(/<span class="late"><time [^>]*>[^<]*<\/time> overdue<\/span>/g);
  t.equal(overdue((await visitor.get('/issues')).text)?.length, 1);
  t.equal(overdue((await visitor.get(`/issues/${late.id}`)).text)?.length, 1);
});

t.test('columns are the declared fields, or the chosen ones, whatever one record has', async (t) => {
  const { visitor, make, project } = await tracker(t);
  const extra = Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`odd${at}`, at]));
  await make('/issues', { title: 'odd', projectId: project.id, ...extra });
  const heads = async (path: string) => {
    const [, head = ''] = /<thead>([\s\S]*?)<\/thead>/.exec(await visitor.text(path)) ?? [];
    return [...head.matchAll(/<th[^>]*>(?:<a[^>]*>)?([^<↑↓]*)/g)].map(([, text]) => text!.trim());
  };
  const declared = ['Title', 'Status', 'Project', 'Due on', 'Priority', 'Reported at', 'Post code'];
  t.same(await heads('/issues'), declared);
  t.same(await heads('/issues?fields=title&fields=priority&fields=status'), ['Title', 'Status', 'Priority']);
  t.same(await heads('/issues?fields=title,odd3'), ['Title', 'Odd3']);
});

t.test('a list is exported as a whole: CSV with names for spreadsheets, and JSON', async (t) => {
  const { service, visitor, make, project, user } = await tracker(t);
  for (let at = 0; at < 120; at++) await make('/issues', { title: `t${at}`, projectId: project.id });
  const links = linksOf(await visitor.text('/issues?filter[title][prefix]=t'));
  const csv = await visitor.get(links.find((href) => href.includes('_export=csv'))!);
  t.match(csv.headers['content-disposition'], 'issues.csv');
  t.equal(csv.text.charCodeAt(0), 0xfeff, 'a byte order mark');
  const lines = csv.text.trim().split('\r\n');
  t.equal(lines.length, 121);
  // The columns of the page.
  t.equal(lines[0], 'Title,Status,Project,Project id,Due on,Priority,Reported at,Post code,Id');
  t.match(lines[1], `,open,Checkout redesign,${project.id},`);
  const json = await visitor.get(links.find((href) => href.includes('_export=json'))!);
  t.same(Object.keys(json.json[0]).includes('_links'), false, 'records are as in a list');
  t.equal(json.json.length, 120);
  for (const order of ['sort=title&order=desc', 'sort=project.name&order=asc', 'sort=dueOn&order=asc'])
    t.equal((await visitor.get(`/issues?${order}&_export=json`)).json.length, 121, order);
  t.equal((await visitor.get('/issues?search=t&_export=json')).json.length, 120);
  const falling = (await visitor.get('/issues?sort=title&order=desc&_export=json')).json;
  t.equal(falling[0].title, 't99');
  const nested = await visitor.get(`/projects/${project.id}?_format=json`);
  t.equal(nested.status, 200);
  const chosen = await visitor.get('/issues?fields=id,title,watcherIds,odd&_export=csv&sort=created_at');
  t.match(chosen.text, `Title,Watchers,Watchers id,Odd,Id\r\nLabels,Ada,"[""${user.id}""]",,`);
  t.equal((await service.send('GET', '/issues?_export=csv')).headers['content-type'], 'application/json');
});

t.test('a number or a text is entered as it is, and a time in UTC', async (t) => {
  const { service, visitor, project } = await tracker(t);
  const rows: [entered: string, stored: unknown][] = [
    ['12345', 12345],
    ['01234', '01234'],
    ['SW1A 1AA', 'SW1A 1AA'],
  ];
  for (const [entered, stored] of rows) {
    const values = { '/title': 'x', '/projectId': project.id, '/reportedAt': '2026-12-01T10:30' };
    const created = await visitor.create(t, '/issues', { ...values, '/postCode': entered });
    const { json } = await service.send('GET', created.headers.location!.split('?')[0]!);
    const expected = { postCode: stored, reportedAt: /^2026-12-01T10:30:00(\.000)?Z$/, status: 'open' };
    t.match(json, expected, entered);
  }
});

t.test('a filter includes its last day, and a fault stays in its form', async (t) => {
  const { visitor, make, project } = await tracker(t);
  for (const day of ['2026-12-01', '2026-12-02', '2026-12-03'])
    await make('/issues', { title: day, projectId: project.id, dueOn: day, reportedAt: `${day}T23:59:59Z` });
  const titles = async (query: Record<string, string>) => {
    const { text } = await visitor.get(`/issues?${new URLSearchParams(query)}`);
    return [...text.matchAll(/<th scope="row"><a [^>]*>([^<]*)</g)].map(([, title]) => title);
  };
  const range = (field: string) => ({
    [`filter[${field}][gte]`]: '2026-12-01',
    [`_last filter[${field}][lt]`]: '2026-12-02',
  });
  for (const field of ['dueOn', 'reportedAt'])
    t.same(await titles(range(field)), ['2026-12-01', '2026-12-02'], field);
  const given = { 'filter[dueOn][gte]': '2026-12-01', '_days filter[dueOn][gte]': 'before today' };
  const both = await visitor.text(`/issues?${new URLSearchParams(given)}`);
  t.match(both, /Due on: from 1 Dec 2026[\s\S]*Due on: to /, 'the days of both');
  const faulty = await visitor.get('/issues?filter[priority][gte]=many&filter[dueOn][gte]=2026-12-01');
  t.equal(faulty.status, 400);
  t.match(faulty.text, /role="alert">[\s\S]*name="filter\[dueOn\]\[gte\]" value="2026-12-01"/);
});

t.test('a deletion says what goes with the record, and a search finds all collections', async (t) => {
  const { visitor, make, issue, project } = await tracker(t);
  await make('/notes', { issueId: issue.id, text: 'n' });
  t.match(await visitor.text(`/issues/${issue.id}?_delete`), 'Notes (1): deleted as well');
  const prevented = await visitor.text(`/projects/${project.id}?_delete`);
  t.match(prevented, 'Issues (1): the deletion is refused as long as they exist');
  const found = await visitor.get('/?_search=LABEL');
  t.match(found.text, `<a href="/issues/${issue.id}">Labels</a>`);
  t.match(await visitor.text('/?_search=Checkout'), `<a href="/projects/${project.id}">`);
});

t.test('a job has a page, on which it is removed', async (t) => {
  const { service, visitor } = await tracker(t);
  const body = '{"name":"a"}\n{"name":"b"}';
  const given = { body, type: 'application/x-ndjson', headers: { prefer: 'respond-async' } };
  const submitted = await service.send('POST', '/projects', given);
  const path = submitted.headers.location!;
  await until('the job has ended', async () => (await service.send('GET', path)).json.state, 'done');
  const list = await visitor.get('/jobs');
  t.equal(list.status, 200);
  t.ok(linksOf(list.text).includes(path));
  const removed = await visitor.submit(t, await visitor.get(path), 'Remove this job');
  t.match(removed, { status: 303, headers: { location: '/jobs?_done=deleted' } });
  t.equal((await service.send('GET', path)).status, 404);
});

t.test('a filter offers several values, also of flags, and a text where a value has a comma', async (t) => {
  const rules = {
    title: 'Lamp',
    type: 'object',
    properties: {
      name: { type: 'string', 'x-index': true },
      lit: { type: 'boolean', 'x-index': true },
      place: { type: 'string', enum: ['hall, left', 'attic'], 'x-index': true },
    },
    'x-collection': { list: 'page' },
  };
  const service = await testService(t, { COLLECTIONS: declare(t, { 'lamps.json': rules }), MIGRATE: 'auto' });
  for (const [name, lit, place] of [
    ['a', true, 'attic'],
    ['b', false, 'hall, left'],
    ['c', undefined, 'attic'],
  ] as const)
    await service.send('POST', '/lamps', { body: { name, lit, place } });
  const visitor = new PageVisitor(service);
  const form = await visitor.text('/lamps?_filter');
  t.match(form, '<input type="checkbox" name="filter[lit][in]" value="true"> Yes');
  t.match(form, /type="text" id="[^"]*" name="filter\[place\]\[prefix\]"/);
  const found = async (query: string) =>
    [...(await visitor.text(`/lamps?${query}`)).matchAll(/<th scope="row"><a [^>]*>(\w)</g)].map(
      ([, name]) => name,
    );
  t.same(await found('filter[lit][in]=true&filter[lit][in]=false'), ['a', 'b']);
  t.same(await found('filter[lit][in]=false'), ['b']);
  t.same(await found('filter[place]=hall%2C+left'), ['b']);
  t.match(form, /Lit is empty<\/label>\s*<select [^>]*name="filter\[lit\]\[null\]"/);
  t.same(await found('filter[lit][null]=true'), ['c']);
});

t.test('a name is not denied where it cannot be looked up', async (t) => {
  const person = { title: 'Person', type: 'object', properties: { name: { type: 'string' } } };
  const pet = {
    title: 'Pet',
    type: 'object',
    properties: { personId: { type: 'string', 'x-references': 'persons' } },
  };
  const folder = declare(t, { 'persons.json': person, 'pets.json': pet });
  const service = await testService(t, { COLLECTIONS: folder, MIGRATE: 'auto' });
  for (let at = 0; at < 101; at++) await service.send('POST', '/persons', { body: { name: `p${at}` } });
  const visitor = new PageVisitor(service);
  const submit = async (name: string) => visitor.create(t, '/pets', { '/personId': name });
  t.equal((await submit('p7')).status, 303);
  t.match((await submit('p100')).text, /persons cannot be searched by name: enter the id/);
});
