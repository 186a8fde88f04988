import { uuidOf } from '../../../src/uuid.js';
import { declaredService } from '../../support/callers.js';
import { whenEventsAreFinal } from '../../support/final-events.js';
import t from '../../support/test.js';
import { serviceWithTasks, tracker } from './collections.js';
import { linksOf, PageVisitor } from './visitor.js';

t.jobs = 2;

t.test('the page of a conflict says when the other change was made, and asks about both', async (t) => {
  const { service, make, project, other, visitor, user } = await tracker(t);
  const own = { title: 'a', projectId: project.id, watcherIds: [user.id], priority: 1 };
  const issue = await make('/issues', own);
  const form = await visitor.get(`/issues/${issue.id}?_edit`);
  const theirs = { title: 'b', projectId: other.id };
  await service.send('PATCH', `/issues/${issue.id}`, { body: theirs });
  await whenEventsAreFinal(service);
  const conflict = await visitor.submit(t, form, 'Save', { '/title': 'c', '/priority': '2' });
  t.equal(conflict.status, 412);
  t.match(conflict.text, /changed this issue after you opened the form, <time datetime="[^"]+"/);
  const [shown, folded] = conflict.text.split('<details>') as [string, string];
  t.match(shown, /<legend>Title<\/legend>/);
  t.notMatch(shown, /<legend>(Priority|Project|Watchers)/);
  t.match(folded, /Only you changed Priority<[\s\S]* name="\/priority"[^>]* value="2"[\s\S]*<\/details>/);
  t.match(folded, /Also changed meanwhile<\/h2><dl><dt>Project<\/dt><dd>Blog &#60;b&#62;<\/dd>\s*<\/dl>/);
  t.notMatch(conflict.text, 'Watchers', 'a name is no change');
  t.equal((await visitor.submit(t, conflict, 'Save', { '_use /title': 'stored' })).status, 303);
  const stored = (await service.send('GET', `/issues/${issue.id}`)).json;
  t.match(stored, { title: 'b', priority: 2, projectId: other.id, watcherIds: [user.id] });
});

t.test('a name that several records have is a choice in its row of an array', async (t) => {
  const { service, make, user, project, visitor } = await tracker(t);
  const make2 = (at: number) => make('/users', { email: `same${at}@example.org`, name: 'Same' });
  const [first, second] = [await make2(1), await make2(2)];
  const values = { '/title': 'x', '/projectId': project.id, '/watcherIds': ['Ada', 'Same', ''] };
  const refused = await visitor.create(t, '/issues', values);
  t.equal(refused.status, 400);
  t.match(refused.text, /<input name="\/watcherIds" aria-label="Watchers 1"[^>]* value="Ada">/);
  t.match(refused.text, /<input name="\/watcherIds" aria-label="Watchers 2"[^>]* value="Same">/);
  const name = '_as /watcherIds Same';
  const select = `<select name="${name}" aria-label="Watchers instead of “Same”"><option selected></option>`;
  t.match(refused.text, `${select}<option value="${first.id}">`);
  const differing = await visitor.submit(t, refused, 'Create', { [name]: [first.id, second.id] });
  t.equal(differing.status, 400, 'one name does not mean two records');
  const created = await visitor.submit(t, refused, 'Create', { [name]: first.id });
  t.equal(created.status, 303);
  const { json } = await service.send('GET', created.headers.location!.split('?')[0]!);
  t.same(json.watcherIds, [user.id, first.id]);
});

t.test('a record leads to a form of what refers to it by an array', async (t) => {
  const { visitor, user } = await tracker(t);
  const link = linksOf(await visitor.text(`/users/${user.id}`)).find((href) => href.includes('watcherIds='))!;
  t.match(link, /^\/issues\?_new&/);
  t.match(await visitor.text(link), /name="\/watcherIds"[^>]* value="Ada"/);
});

t.test('a record that is too large for memory hides no name of its collection', async (t) => {
  const { make, visitor, project, issue } = await tracker(t);
  const text = 'x'.repeat(700_000);
  for (const name of ['Large', 'Larger']) {
    const large = await make('/projects', { name, text });
    await make('/issues', { title: `in ${name}`, projectId: large.id });
  }
  const list = await visitor.get('/issues');
  for (const name of ['Large', 'Larger', 'Checkout redesign']) t.match(list.text, `>${name}</a>`);
  const csv = await visitor.get('/projects?_export=csv');
  t.equal(csv.text.trim().split('\r\n').length, 5);
  t.match(await visitor.text(`/projects/${project.id}`), `<a href="/issues/${issue.id}">Labels</a>`);
});

t.test('a record counts what refers to it up to a bound, and what a deletion concerns', async (t) => {
  const { make, visitor, project } = await tracker(t);
  for (let at = 0; at < 21; at++) await make('/issues', { title: `t${at}`, projectId: project.id });
  const { text } = await visitor.get(`/projects/${project.id}`);
  t.match(text, />Issues<\/a> <span class="dim">more than 20</);
  t.match(await visitor.text(`/projects/${project.id}?_delete`), 'Issues (22): the deletion is refused');
});

t.test('a refusal that is about no field leaves the form and the entries', async (t) => {
  const { visitor } = await tracker(t);
  const values = { '/title': 'typed <i>', '/projectId': 'Checkout redesign' };
  const form = await visitor.get('/issues?_new');
  const refused = await visitor.submit(t, form, 'Create', { ...values, _key: 'x'.repeat(400) });
  t.equal(refused.status, 400);
  t.match(refused.text, /Nothing was saved, and what you entered is below\.[\s\S]*"typed &#60;i&#62;"/);
});

t.test('the members of an object are a group of fields, and those without a field stay', async (t) => {
  const service = await serviceWithTasks(t);
  const visitor = new PageVisitor(service);
  const empty = await visitor.get('/tasks?_new');
  t.match(empty.text, /<fieldset><legend>Site<\/legend>[\s\S]*<legend>Site: geo<\/legend>/);
  const values = { '/title': 'x', '/state': 'open' };
  const faulty = await visitor.submit(t, empty, 'Create', { ...values, '/site/geo/lat': 'north' });
  t.match(faulty.text, /id="new-site\.47geo\.47lat-error">must be/);
  const street = await visitor.submit(t, faulty, 'Create', { '/site/geo/lat': '1.5' });
  t.match(street.text, 'street', 'a member that the object requires');
  const created = await visitor.submit(t, street, 'Create', { '/site/street': 'Main' });
  t.equal(created.status, 303);
  const [path] = created.headers.location!.split('?') as [string];
  const stored = async () => (await service.send('GET', path)).json.site;
  t.same(await stored(), { street: 'Main', geo: { lat: 1.5 } });
  await service.send('PATCH', path, { body: { site: { street: 'Main', floor: 2 } } });
  const edit = await visitor.get(`${path}?_edit`);
  t.equal((await visitor.submit(t, edit, 'Save', { '/site/geo/lon': '8' })).status, 303);
  t.same(await stored(), { street: 'Main', floor: 2, geo: { lon: 8 } });
  const again = await visitor.get(`${path}?_edit`);
  t.equal((await visitor.submit(t, again, 'Save', { '/site/geo/lon': '' })).status, 303);
  t.same(await stored(), { street: 'Main', floor: 2, geo: {} });
  const plain = await visitor.create(t, '/tasks', values);
  t.notOk('site' in (await service.send('GET', plain.headers.location!.split('?')[0]!)).json);
});

t.test('the form of a nested record compares the parent that was entered', async (t) => {
  const ids = [1, 2].map((at) => uuidOf(Date.now(), at, Buffer.alloc(16, at)));
  const named = {
    type: 'object',
    required: ['name'],
    properties: { name: { type: 'string', 'x-index': true } },
  };
  const service = await declaredService(t, {
    'projects.json': { ...named, 'x-collection': { ids: 'client' } },
    'plans.json': {
      ...named,
      properties: {
        ...named.properties,
        projectId: { type: 'string', 'x-references': 'projects', enum: ids },
        site: { type: 'object' },
      },
      'x-collection': { nested: true },
    },
  });
  const visitor = new PageVisitor(service);
  const headers = { 'if-none-match': '*' };
  for (const id of ids)
    t.equal(
      (await service.send('PUT', `/projects/${id}`, { body: { name: id === ids[0] ? 'a' : 'b' }, headers }))
        .status,
      201,
    );
  const body = { name: 'x', projectId: ids[0]! };
  const { json } = await service.send('POST', '/plans', { body });
  for (const [path, form] of [
    [`/plans/${json.id}`, '_edit'],
    ['/plans', '_new'],
    [`/projects/${ids[0]}/plans`, '_new'],
  ] as const) {
    const open = await visitor.get(`${path}?${form}`);
    const values = { '/name': '', '/site': '{', ...(!path.startsWith('/projects') && { '/projectId': 'b' }) };
    const refused = await visitor.submit(t, open, form === '_edit' ? 'Save' : 'Create', values);
    t.equal(refused.status, 400, path);
    const faults = [...refused.text.matchAll(/<li><a href="#(?:edit|new)-(\w+)"/g)].map(([, name]) => name);
    t.same(faults.toSorted(), ['name', 'site'], path);
  }
});
