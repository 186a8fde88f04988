import { declaredService } from '../../support/callers.js';
import { makeKey } from '../../support/credentials.js';
import type { ServiceResponse } from '../../support/service.js';
import t, { type Test } from '../../support/test.js';
import { tracker } from './collections.js';
import { PageVisitor } from './visitor.js';

const PROJECT = {
  title: 'Project',
  type: 'object',
  required: ['name'],
  properties: { name: { type: 'string', maxLength: 100, 'x-index': true } },
};

const NOTE = {
  title: 'Note',
  type: 'object',
  required: ['title', 'projectId'],
  properties: {
    title: { type: 'string', maxLength: 100, 'x-index': true, 'x-search': 'words' },
    state: { type: 'string', enum: ['open', 'done'], 'x-index': true },
    dueOn: { type: 'string', format: 'date', 'x-index': true },
    priority: { type: 'integer', 'x-index': true },
    isUrgent: { type: 'boolean', 'x-index': true },
    tags: { type: 'array', items: { type: 'string' }, 'x-index': true },
    code: { type: 'string', maxLength: 20, 'x-unique': true },
    site: { type: 'object' },
    projectId: { type: 'string', 'x-references': 'projects' },
  },
};

const HAS_FORM = /<p class="error" role="alert">[^<]+<\/p>\s*<form class="edit" action="/;
const ENTRIES = ['x', '-1', '1e999', '2026-13-45', ',', '\\', 'open', 'true', 'a'.repeat(300)];

/** The names of the inputs of the form that a filter page has. */
const namesIn = ({ text }: ServiceResponse): string[] => {
  const [form = ''] = /<form class="edit"[\s\S]*?<\/form>/.exec(text) ?? [];
  const names = [...form.matchAll(/ name="([^"]*)"/g)].map(([, name]) => name!);
  return [...new Set(names)].filter((name) => name !== 'group');
};

for (const lists of ['strict', 'tolerant'])
  t.test(`each entry of a filter form leads to a list or to the form again: ${lists}`, async (t) => {
    const options = { list: 'page', lists, nested: true };
    const service = await declaredService(t, {
      'projects.json': PROJECT,
      'notes.json': { ...NOTE, 'x-collection': options },
    });
    const visitor = new PageVisitor(service);
    const project = (await service.send('POST', '/projects', { body: { name: 'One' } })).json;
    const body = { title: 'Labels', projectId: project.id, priority: 2 };
    t.equal((await service.send('POST', '/notes', { body })).status, 201);
    const shows = async (path: string, entries: Readonly<Record<string, string>>) => {
      const page = await visitor.get(`${path}?${new URLSearchParams(entries)}`);
      const fits = page.status === 200 || (page.status === 400 && HAS_FORM.test(page.text));
      t.ok(fits, `${page.status} ${path} ${JSON.stringify(entries)}`);
      return page;
    };
    const names = namesIn(await visitor.get('/notes?_filter=1'));
    t.ok(names.length > 12 && names.includes('search'), String(names));
    for (const path of ['/notes', `/projects/${project.id}/notes`])
      for (const sort of ['', 'relevance', 'title', 'priority', 'created_at', 'project.name', 'none'])
        for (const order of ['', 'asc', 'desc'])
          for (const search of ['', 'labels']) await shows(path, { sort, order, search });
    for (const group of [{}, { group: 'state' }])
      for (const name of names)
        for (const entry of ENTRIES) await shows('/notes', { ...group, [name]: entry });
    const given = { sort: 'relevance', order: 'desc', search: 'labels', 'filter[priority][gte]': '1' };
    const page = await shows('/notes', given);
    if (lists === 'tolerant') return t.equal(page.status, 200, 'the direction has no effect');
    t.match(page.text, /role="alert">`order` must be absent/);
    t.match(page.text, /<option value="relevance" selected>[\s\S]*<option value="desc" selected>/);
    t.match(
      page.text,
      /name="search"[^>]* value="labels"[\s\S]*name="filter\[priority\]\[gte\]"[^>]* value="1"/,
    );
    t.equal((await shows('/notes', { ...given, order: '' })).status, 200, 'the cured form');
  });

t.test(
  'the form of a faulty address repeats what it can show, and not what is wrong elsewhere',
  async (t) => {
    const { visitor } = await tracker(t);
    const query = 'filter[none]=1&filter[status][ne]=open&filter[priority][gte]=x&fields=title,status';
    const names = namesIn(await visitor.get(`/issues?${query}`));
    t.notOk(names.includes('filter[none]'));
    for (const name of ['filter[status][ne]', 'filter[priority][gte]', 'fields'])
      t.ok(names.includes(name), name);
    const entered = await visitor.text('/issues?filter[priority][gte]=x');
    t.match(entered, /name="filter\[priority\]\[gte\]"[^>]* value="x"/, 'a faulty entry is still there');
  },
);

t.test('a chip names a record to which no shown record refers', async (t) => {
  const { visitor, project, other, user } = await tracker(t);
  for (const [query, chip] of [
    [`filter[projectId]=${other.id}`, 'Project: Blog &#60;b&#62;'],
    [`filter[projectId][ne]=${project.id}`, 'Project: not Checkout redesign'],
    [`filter[projectId][in]=${other.id}&search=none`, 'Project: Blog &#60;b&#62;'],
    [`filter[watcherIds][has]=${user.id}&search=none`, 'Watchers: has Ada'],
    [`filter[projectId]=${other.id}&group=status`, 'Project: Blog &#60;b&#62;'],
    [
      'filter[projectId]=00000000-0000-7000-8000-000000000000',
      'Project: 00000000-0000-7000-8000-000000000000',
    ],
  ] as const)
    t.match(await visitor.text(`/issues?${query}`), `<span class="chip">${chip} <a `, query);
});

const ACCESS = {
  projects: [
    { can: 'read', where: { name: { ne: 'Secret' } } },
    { can: 'all', scope: 'admin' },
  ],
  notes: [
    { can: 'read', fields: ['title', 'state', 'projectId', 'code'] },
    { can: 'create', fields: ['title', 'projectId'] },
    { can: 'update', fields: ['state', 'code'] },
    { can: 'all', scope: 'admin' },
  ],
};

/** A service with access rules, two projects, two notes, an administrator and a member. */
async function withRules(t: Test) {
  const files = Object.entries({ projects: PROJECT, notes: NOTE }).map(([name, schema]) => {
    const access = ACCESS[name as keyof typeof ACCESS];
    return [`${name}.json`, { ...schema, 'x-collection': { list: 'page', lists: 'strict', access } }];
  });
  const service = await declaredService(t, Object.fromEntries(files), { AUTH: 'api-key' });
  const visitorOf = async (subject: string, scope: string) => {
    const { key } = await makeKey(service.db, { subject, scopes: [scope] });
    return { visitor: new PageVisitor(service, { 'x-api-key': key }), headers: { 'x-api-key': key } };
  };
  const [admin, member] = [await visitorOf('root', 'admin'), await visitorOf('ben', 'self')];
  const make = async (path: string, body: object) => {
    const { status, json, text } = await service.send('POST', path, { body, headers: admin.headers });
    t.equal(status, 201, text);
    return json;
  };
  const secret = await make('/projects', { name: 'Secret' });
  const open = await make('/projects', { name: 'Open' });
  const notes = [1, 2].map((at) =>
    make('/notes', { title: `Note ${at}`, projectId: open.id, code: `c${at}` }),
  );
  return { service, admin, member, secret, notes: await Promise.all(notes) };
}

t.test('under access rules', async (t) => {
  const { service, admin, member, secret, notes } = await withRules(t);
  const path = `/notes/${notes[0].id}`;

  t.test('a chip names only what its caller may read', async (t) => {
    const query = `/notes?filter[projectId]=${secret.id}`;
    t.match(await admin.visitor.text(query), '<span class="chip">Project: Secret <a ');
    const { text } = await member.visitor.get(query);
    t.match(text, `<span class="chip">Project: ${secret.id} <a `);
    t.notMatch(text, 'Secret');
  });

  t.test('fields that no rule shows are a fault in the form', async (t) => {
    for (const query of ['filter[priority][gte]=1', 'sort=priority', 'sort=dueOn&order=desc'])
      t.match(await member.visitor.get(`/notes?${query}`), { status: 403, text: HAS_FORM }, query);
  });

  t.test('several records can be changed by the fields that can succeed', async (t) => {
    const values = { '/state': 'done', '/dueOn': '2026-12-01', '/priority': '3', '/isUrgent': 'true' };
    const others = { '/title': 'x', '/tags': 'y', '/site': '{}', '/projectId': 'Open' };
    const all: Readonly<Record<string, string>> = { ...values, ...others };
    for (const [{ visitor }, fields] of [
      [admin, Object.keys(all)],
      [member, ['/state']],
    ] as const) {
      const list = await visitor.get('/notes');
      const [, options = ''] = /<select name="_field">([\s\S]*?)<\/select>/.exec(list.text) ?? [];
      const offered = [...options.matchAll(/value="([^"]*)"/g)].map(([, name]) => name!);
      t.same(offered.toSorted(), [...fields].toSorted());
      for (const field of fields) {
        const chosen = { _id: notes.map(({ id }) => id as string), _bulk: 'PATCH', _field: field };
        const confirm = await visitor.submit(t, list, 'Edit…', chosen);
        const saved = await visitor.submit(t, confirm, 'Change 2 notes', { [field]: all[field]! });
        t.equal(saved.status, 303, `${field}: ${saved.text}`);
      }
      const forged = { _id: notes[0].id as string, _bulk: 'PATCH', _field: '/code' };
      t.equal((await visitor.submit(t, list, 'Edit…', forged)).status, 400);
    }
  });

  t.test('a form has the fields that some rule permits to set', async (t) => {
    const fieldsOf = async ({ visitor }: typeof admin, address: string) =>
      namesIn(await visitor.get(address)).filter((name) => /^[/*]/.test(name));
    t.same(await fieldsOf(member, '/notes?_new'), ['/title', '/projectId']);
    t.same(await fieldsOf(member, `${path}?_edit`), ['/state', '/code']);
    t.equal((await fieldsOf(admin, `${path}?_edit`)).length, 10, 'with the other fields');
    const saved = await member.visitor.save(t, path, { '/state': 'open', '/code': 'c9' });
    t.equal(saved.status, 303, saved.text);
    const created = await member.visitor.create(t, '/notes', { '/title': 'Mine', '/projectId': 'Open' });
    t.equal(created.status, 303, created.text);
    const { json } = await service.send('GET', path, { headers: admin.headers });
    t.match(json, { title: 'x', state: 'open', code: 'c9', priority: 3 });
  });
});
