import { declaredService } from '../../support/callers.js';
import { testService } from '../../support/service.js';
import t from '../../support/test.js';
import { serviceWithTasks } from './collections.js';
import { PageVisitor } from './visitor.js';

t.jobs = 2;

const FIELDS = {
  '/title': 'Paint <b>',
  '/state': 'open',
  '/due': '2026-12-24',
  '/effort': '1.50',
  '/count': '3',
  '/urgent': 'true',
  '/code': 'AB-1',
  '/tags': ['x', '', 'y'],
  '/place': '{"city": "Bern"}',
  '/notes': 'one\r\ntwo',
  '*': '{"extra": {"deep": [1, null]}}',
};

t.test('a form creates a record of every kind of field, and continues at its page', async (t) => {
  const service = await serviceWithTasks(t);
  const visitor = new PageVisitor(service);
  const list = await visitor.get('/tasks?_new');
  const created = await visitor.submit(t, list, 'Create', { ...FIELDS, '/kinds': 'bug' });
  t.equal(created.status, 303);
  const [path] = created.headers.location!.split('?');
  const { json } = await service.send('GET', path!);
  t.match(json, {
    ...{ title: 'Paint <b>', state: 'open', due: '2026-12-24', effort: 1.5, count: 3, urgent: true },
    ...{ code: 'AB-1', tags: ['x', 'y'], kinds: ['bug'], place: { city: 'Bern' }, notes: 'one\ntwo' },
    extra: { deep: [1, null] },
  });
  t.notOk('starts' in json, 'what was left empty is absent');
  const page = await visitor.get(created.headers.location!);
  t.match(page.text, '<p class="note" role="status">Created.</p>');
});

t.test('failures are shown beside the fields, with what was entered', async (t) => {
  const service = await serviceWithTasks(t);
  const visitor = new PageVisitor(service);
  const values = {
    '/title': '',
    '/state': 'none <i>',
    '/effort': '1e400',
    '/count': '1.5',
    '/code': 'ab',
    '/place': '{"city"',
    '/notes': 'a\r\nb',
    '*': '[]',
  };
  const first = await visitor.create(t, '/tasks', values);
  t.equal(first.status, 400);
  t.match(first.text, 'Not saved yet:');
  t.equal(first.text.match(/<li><a href="#new-/g)?.length, 7);
  for (const field of ['effort', 'place', 'others', 'title', 'state', 'count', 'code']) {
    t.match(first.text, `href="#new-${field}"`);
    t.match(first.text, `id="new-${field}-error"`);
  }
  t.match(
    first.text,
    /id="new-place" name="\/place" aria-describedby="new-place-hint new-place-error" aria-invalid="true">\n\{&#34;city&#34;</,
  );
  const valid = { ...values, '/effort': '1', '/place': '{"city": 7}', '*': '' };
  const second = await visitor.submit(t, first, 'Create', valid);
  t.equal(second.status, 400);
  t.match(second.text, 'city must be of type string');
  t.match(second.text, '<option selected>none &#60;i&#62;</option>');
  t.match(second.text, />\na\r?\nb<\/textarea>/, 'what was entered is still there');
  t.equal((await service.send('GET', '/tasks?page=1')).json.meta.total, 0);
});

t.test('a form has one key until it has created a record', async (t) => {
  const service = await serviceWithTasks(t);
  const visitor = new PageVisitor(service);
  const valid = { '/title': 'a', '/state': 'open', '/count': '' };
  const keyIn = ({ text }: { text: string }) => /name="_key" value="([^"]+)"/.exec(text)![1];
  const first = await visitor.get('/tasks?_new');
  const refused = await visitor.submit(t, first, 'Create', { ...valid, '/count': 'x' });
  t.equal(refused.status, 400);
  t.equal(keyIn(refused), keyIn(first));
  const created = await visitor.submit(t, refused, 'Create', valid);
  t.equal(created.status, 303);
  // A person goes back twice, to the form before the refusal.
  const again = await visitor.submit(t, first, 'Create', valid);
  t.equal(again.headers.location, created.headers.location);
  const other = await visitor.submit(t, first, 'Create', { ...valid, '/count': '1' });
  t.match(other, { status: 422, text: /This form has created a record before\. Create another one\?/ });
  t.not(keyIn(other), keyIn(first));
  const [path] = created.headers.location!.split('?') as [string];
  await service.send('PATCH', path, { body: { title: 'b'.repeat(99) } });
  const later = await visitor.submit(t, first, 'Create', valid);
  t.match(later.headers.location, path, 'the record has changed since');
  t.equal((await service.send('GET', '/tasks?page=1')).json.meta.total, 1);
  t.equal((await visitor.submit(t, other, 'Create')).status, 303);
  t.equal((await service.send('GET', '/tasks?page=1')).json.meta.total, 2);
});

t.test('a text without a bound has several lines, unless lists compare or search it', async (t) => {
  const text = { type: 'string' };
  const rule = {
    ...{ title: 'Rule', type: 'object', required: ['name'] },
    properties: {
      ...{
        name: text,
        plain: text,
        found: { ...text, 'x-search': true },
        sorted: { ...text, 'x-index': true },
      },
      ...{
        unique: { ...text, 'x-unique': true },
        short: { ...text, maxLength: 9 },
        mixed: { type: ['string', 'number'] },
      },
    },
  };
  const service = await declaredService(t, { 'rules.json': rule }, { MIGRATE: 'auto' });
  const visitor = new PageVisitor(service);
  const form = await visitor.get('/rules?_new');
  const areas = [...form.text.matchAll(/<textarea [^>]*name="\/(\w+)"/g)].map(([, name]) => name);
  t.same(areas, ['plain']);
  const values = { '/name': 'a', '/plain': ' one\r\n\r\ntwo', '/mixed': '5' };
  const { headers } = await visitor.submit(t, form, 'Create', values);
  const { json } = await service.send('GET', headers.location!.split('?')[0]!);
  t.match(json, { plain: ' one\n\ntwo', mixed: 5 });
  t.match(await visitor.text('/rules'), '>Plain<', 'a list shows it');
});

t.test('a value that another record has, and a reference to a missing one', async (t) => {
  const service = await serviceWithTasks(t);
  const visitor = new PageVisitor(service);
  const task = { '/title': 'a', '/state': 'open', '/code': 'AB-1' };
  t.equal((await visitor.create(t, '/tasks', task)).status, 303);
  const again = await visitor.create(t, '/tasks', task);
  t.equal(again.status, 409);
  t.match(again.text, '<p class="error" id="new-code-error">Another record has this code.</p>');
  const lost = { '/title': '', '/state': 'open', '/itemId': '00000000-0000-7000-8000-000000000000' };
  const missing = await visitor.create(t, '/tasks', lost);
  t.equal(missing.status, 400);
  t.match(missing.text, 'id="new-title-error"', 'an id is looked up with the other faults');
  t.match(missing.text, '<p class="error" id="new-itemId-error">No such item exists.</p>');
});

t.test('an edit changes what was changed, and removes what was emptied', async (t) => {
  const service = await serviceWithTasks(t);
  const visitor = new PageVisitor(service);
  const task = { title: 'a', state: 'open', notes: 'x\ny', effort: 2, kinds: ['idea'] };
  const body = { ...task, odd: 1, even: 'z', 'a/b': [] };
  const { json } = await service.send('POST', '/tasks', { body });
  const path = `/tasks/${json.id}`;
  const unchanged = await visitor.save(t, path);
  t.match(unchanged, { status: 303, headers: { location: `${path}?_done=unchanged` } });
  t.match(await visitor.text(unchanged.headers.location!), '>Nothing was changed.<');
  t.match((await service.send('GET', path)).json, { ...body, _version: 1 }, 'nothing has changed');
  const values = { '/title': 'b', '/effort': '', '*': '{"even": "zz", "new": null}' };
  t.equal((await visitor.save(t, path, values)).status, 303);
  const changed = (await service.send('GET', path)).json;
  t.match(changed, { title: 'b', notes: 'x\ny', kinds: ['idea'], even: 'zz', new: null });
  for (const name of ['effort', 'odd', 'a/b']) t.notOk(name in changed, name);
  const failed = await visitor.save(t, path, { '/title': '', '/notes': 'c' });
  t.equal(failed.status, 400);
  t.match(failed.text, 'id="edit-title-error"');
  t.equal((await visitor.submit(t, failed, 'Save', { '/title': 'd' })).status, 303);
  t.match((await service.send('GET', path)).json, { title: 'd', notes: 'c', even: 'zz' });
});

t.test(
  'a time with an offset is shown in UTC, and stays as it is while only another field changes',
  async (t) => {
    const service = await serviceWithTasks(t);
    const visitor = new PageVisitor(service);
    for (const [starts, shown] of [
      ['2026-01-01T10:00:00+02:00', '2026-01-01T08:00'],
      ['2026-01-01t10:00:00.12-01:30', '2026-01-01T11:30:00.120'],
      ['2016-12-31T23:59:60Z', '2016-12-31T23:59:60'],
    ] as const) {
      const { json } = await service.send('POST', '/tasks', { body: { title: 'a', state: 'open', starts } });
      const path = `/tasks/${json.id}`;
      const form = await visitor.get(`${path}?_edit`);
      const type = starts.includes(':60') ? 'text' : 'datetime-local';
      t.match(form.text, new RegExp(`<input type="${type}"[^>]* name="/starts"[^>]* value="${shown}">`));
      t.equal((await visitor.submit(t, form, 'Save', { '/title': 'b' })).status, 303);
      t.match((await service.send('GET', path)).json, { title: 'b', starts });
    }
  },
);

t.test('a conflict shows both values, and saves those that were chosen', async (t) => {
  const service = await serviceWithTasks(t);
  const visitor = new PageVisitor(service);
  const body = { title: 'a', state: 'open', effort: 1, count: 1 };
  const { json } = await service.send('POST', '/tasks', { body });
  const path = `/tasks/${json.id}`;
  const open = await visitor.get(`${path}?_edit`);
  await service.send('PATCH', path, { body: { title: 'theirs <', effort: 7, count: 9 } });
  const conflict = await visitor.submit(t, open, 'Save', { '/title': 'mine', '/effort': '3' });
  t.equal(conflict.status, 412);
  t.match(conflict.text, '<pre class="stored">theirs &#60;</pre>');
  t.match(conflict.text, /name="\/title"[^>]* value="mine"/);
  t.notMatch(conflict.text, 'name="/count"', 'a field that only the other request changed is no choice');
  t.equal((await service.send('GET', path)).json._version, 2, 'nothing was saved');
  const failed = await visitor.submit(t, conflict, 'Save', { '_use /effort': 'stored', '/title': '' });
  t.equal(failed.status, 400);
  const saved = await visitor.submit(t, failed, 'Save', { '/title': 'mine' });
  t.equal(saved.status, 303);
  t.match((await service.send('GET', path)).json, { title: 'mine', effort: 7, count: 9, _version: 3 });

  const old = await visitor.get(`${path}?_delete`);
  await service.send('PATCH', path, { body: { count: 10 } });
  const refused = await visitor.submit(t, old, 'Delete this task');
  t.equal(refused.status, 412);
  t.match(refused.text, 'Nothing was deleted.');
  const deleted = await visitor.submit(t, refused, 'Delete this task');
  t.match(deleted, { status: 303, headers: { location: '/tasks?_done=deleted' } });
  t.equal((await service.send('GET', path)).status, 404);
});

t.test('forms are accepted only from pages of this service, with their token', async (t) => {
  const service = await testService(t);
  const submit = async (values: Record<string, string>, headers: Record<string, string | undefined> = {}) => {
    const visitor = new PageVisitor(service);
    const list = await visitor.get('/items?_new');
    return visitor.submit(t, list, 'Create', { '/name': 'Lamp', ...values }, headers);
  };
  const expired: [string, Record<string, string>, Record<string, string | undefined>][] = [
    ['a wrong token', { _token: 'x'.repeat(43) }, {}],
    ['an empty token', { _token: '' }, {}],
    ['no cookie', {}, { cookie: undefined }],
    ['the cookie of another browser', {}, { cookie: `plinth_form=${'x'.repeat(24)}` }],
  ];
  for (const [says, values, headers] of expired) {
    const response = await submit(values, headers);
    t.equal(response.status, 403, says);
    t.match(response.text, /Nothing was saved, and what you entered is below\./, says);
    t.match(response.text, /name="\/name"[^>]* value="Lamp"/, says);
  }
  const refused: [string, Record<string, string | undefined>][] = [
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['another host of the site', { 'sec-fetch-site': 'same-site', origin: undefined }],
    ...['https://evil.example', 'http://127.0.0.1:1', 'null'].map(
      (origin): [string, Record<string, string | undefined>] => [
        `the origin ${origin} alone`,
        { origin, 'sec-fetch-site': undefined },
      ],
    ),
  ];
  for (const [says, headers] of refused) {
    const response = await submit({}, headers);
    t.equal(response.status, 403, says);
    t.match(response.text, '/errors/INVALID_FORM', says);
    t.match(response.headers['content-type'], 'text/html');
  }
  const asData = await submit({ _token: '' }, { accept: 'application/json, text/html;q=0.5' });
  t.match(asData, { status: 403, json: { error: { code: 'INVALID_FORM' } } });
  t.equal((await service.send('GET', '/items')).json.meta.total, 0);
  t.equal((await submit({}, { origin: undefined })).status, 303, 'Sec-Fetch-Site alone');
  t.equal((await submit({}, { 'sec-fetch-site': undefined })).status, 303, 'Origin alone');
  const plain = { 'sec-fetch-site': undefined, host: 'plinth.test' };
  t.equal((await submit({}, { ...plain, origin: 'http://plinth.test' })).status, 303, 'another own host');
  t.equal((await submit({}, { ...plain, origin: 'http://plinth.test:81' })).status, 403, 'another port');
  t.equal((await submit({}, { ...plain, origin: 'https://plinth.test' })).status, 403, 'another scheme');
});

t.test('a form stands for methods that the resource has, and for nothing else', async (t) => {
  const service = await testService(t);
  const visitor = new PageVisitor(service);
  const list = await visitor.get('/items?_new');
  for (const _method of ['PUT', 'GET', 'constructor', 'QUERY']) {
    const response = await visitor.submit(t, list, 'Create', { _method, '/name': 'x' });
    t.equal(response.status, 405, _method);
  }
  const bulk = await visitor.submit(t, list, 'Create', { _method: 'DELETE' });
  t.not(bulk.status, 303, 'not for all records');
  const data = { body: 'name=x', type: 'application/x-www-form-urlencoded' };
  const program = await service.send('POST', '/items', data);
  t.match(program, { status: 415, headers: { 'accept-post': 'application/json' } });
  const many = new URLSearchParams(
    Array.from({ length: 2100 }, (_, n): [string, string] => ['/x', String(n)]),
  );
  t.equal((await visitor.post('/items', many)).status, 400);
  t.equal((await service.send('OPTIONS', '/items')).headers.allow, 'GET, HEAD, QUERY, POST, OPTIONS');
  const { json } = await service.send('POST', '/items', { body: { name: 'x' } });
  t.equal((await service.send('POST', `/items/${json.id}`, { body: {} })).status, 405);
});

t.test('posts are created below their user, and passwords are never shown', async (t) => {
  const service = await testService(t);
  const visitor = new PageVisitor(service);
  const person = { '/email': 'a@example.org', '/name': 'Ann', '/password': 'correct horse battery' };
  const bad = await visitor.create(t, '/users', { ...person, '/email': 'a' });
  t.equal(bad.status, 400);
  t.notMatch(bad.text, /correct horse/);
  const user = await visitor.submit(t, bad, 'Create', person);
  const [path] = user.headers.location!.split('?');
  const page = await visitor.get(`${path}?_edit`);
  t.notMatch(page.text, /password_hash/);
  const post = await visitor.create(t, `${path}/posts`, {
    '*': '{"title": "Hello"}',
  });
  t.match(post.headers.location, /^\/posts\//);
  const stored = (await service.send('GET', post.headers.location!)).json;
  t.match(stored, { title: 'Hello', userId: path!.slice(7) });
  const renamed = await visitor.submit(t, page, 'Save', { '/name': 'Anna' });
  t.equal(renamed.status, 303);
});

/** Schemas of a field, each with what its form says of it. */
const HINTS: readonly (readonly [schema: object | boolean, hint: string])[] = [
  [
    { type: 'integer', minimum: 1, maximum: 9, multipleOf: 3 },
    'Must be at least 1. Must be at most 9. Must be a multiple of 3.',
  ],
  [{ type: 'number', minimum: 1 }, 'Must be at least 1.'],
  [{ type: 'number', maximum: 9 }, 'Must be at most 9.'],
  [{ type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 2 }, 'Must be more than 0. Must be less than 2.'],
  [{ type: 'string', format: 'time' }, 'Must be a time of day with its zone, like 12:00:00Z.'],
  [{ type: 'string', format: 'duration' }, 'Must be a duration, like PT1H30M.'],
  [{ type: 'string', format: 'uuid' }, 'Must be a UUID.'],
  [{ type: 'string', format: 'date-time' }, 'Time zone: UTC.'],
  [{ type: 'string', format: 'date-time', maxLength: 40, pattern: '^2' }, 'Time zone: UTC.'],
  [{ type: 'string', maxLength: 40 }, 'Must have at most 40 characters.'],
];

t.test('a form says what each field may have', async (t) => {
  const fields = HINTS.map(([schema], at): [string, object | boolean] => [`f${at}`, schema]);
  const rule = {
    title: 'Rule',
    type: 'object',
    properties: { ...Object.fromEntries(fields), only: { const: 'all' } },
  };
  const service = await declaredService(t, { 'rules.json': rule }, { MIGRATE: 'auto' });
  const { text } = await new PageVisitor(service).get('/rules?_new');
  for (const [at, [, hint]] of HINTS.entries())
    t.match(text, `<p class="hint" id="new-f${at}-hint">${hint}</p>`);
  t.match(text, '<option>all</option>');
});
