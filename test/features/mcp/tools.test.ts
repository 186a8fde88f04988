import { Ajv2020 } from 'ajv/dist/2020.js';
import type { JsonObject } from '../../../src/json.js';
import { declare } from '../../support/collections.js';
import { testService } from '../../support/service.js';
import t, { type Test } from '../../support/test.js';
import { words } from '../../support/words.js';
import { connect } from './session.js';

t.jobs = 2;

const NOTES = {
  title: 'Note',
  description: 'Short texts.',
  type: 'object',
  required: ['text'],
  additionalProperties: false,
  properties: {
    text: { type: 'string', minLength: 1, 'x-search': true },
    kind: { enum: ['plain', 'task'], type: 'string', 'x-index': true },
    rank: { type: 'number', 'x-index': true },
    tags: { type: 'array', items: { type: 'string' }, 'x-index': true },
    place: { $ref: '_shared.json#/$defs/place' },
    parent: { $ref: '#/$defs/link' },
    checked: { type: 'boolean', readOnly: true },
    secret: { type: 'string', writeOnly: true },
    userId: { type: 'string', 'x-references': 'users' },
  },
  $defs: { link: { type: 'string', format: 'uri' } },
};
const SHARED = {
  type: 'object',
  properties: {},
  $defs: {
    place: { type: 'object', required: ['city'], properties: { city: { $ref: '#/$defs/city' } } },
    city: { type: 'string' },
  },
};

/** A service with these collections, and a client of its tools. */
async function declared(t: Test, env: Record<string, string> = {}) {
  const COLLECTIONS = declare(t, { 'items.json': {}, 'notes.json': NOTES, '_shared.json': SHARED });
  const service = await testService(t, { MCP: 'on', MIGRATE: 'auto', COLLECTIONS, ...env });
  return { ...service, ...(await connect(t, service.url)) };
}

/** A service with the built-in collections, and a client of its tools. */
async function builtIn(t: Test, env: Record<string, string> = {}) {
  const service = await testService(t, { MCP: 'on', ...env });
  return { ...service, ...(await connect(t, service.url)) };
}

/** The result of a call that fails. */
const refusal = (error: object) => ({ isError: true, value: { error } });

t.test('a client initializes and lists the tools of every collection', async (t) => {
  const { client } = await declared(t);
  t.equal(client.getServerVersion()?.name, 'plinth');
  t.match(client.getServerCapabilities(), { tools: {}, resources: {} });
  t.match(client.getInstructions(), /ifMatch/);
  const { tools } = await client.listTools();
  const verbs = ['list', 'group', 'get', 'create', 'update', 'delete'];
  const names = ['users', 'items', 'notes'].flatMap((name) => verbs.map((verb) => `${name}_${verb}`));
  t.same(tools.map(({ name }) => name).sort(), [...names, 'users_upsert'].sort());
  const hints = new Map(tools.map(({ name, annotations }) => [name, annotations]));
  const changing = { readOnlyHint: false, destructiveHint: true, idempotentHint: true };
  t.match(hints.get('notes_list'), { readOnlyHint: true, destructiveHint: false, openWorldHint: false });
  t.match(hints.get('notes_get'), { readOnlyHint: true });
  t.match(hints.get('notes_create'), { readOnlyHint: false, destructiveHint: false, idempotentHint: false });
  for (const name of ['notes_update', 'notes_delete']) t.match(hints.get(name), changing);
  await client.ping();
});

t.test('tools have the schemas of the documents about the API, and need none of these', async (t) => {
  const service = await declared(t);
  const without = await declared(t, { API_DOCS: 'off' });
  t.equal((await without.send('GET', '/openapi.json')).status, 404);
  const [with_, tools] = await Promise.all(
    [service, without].map(async ({ client }) => (await client.listTools()).tools),
  );
  t.same(tools, with_);
  const { schemas } = (await service.send('GET', '/openapi.json')).json.components;
  for (const [name, part, schema] of [
    ['notes_create', 'record', 'NoteInput'],
    ['notes_update', 'patch', 'NotePatch'],
  ] as const) {
    const { inputSchema } = tools!.find((tool) => tool.name === name)!;
    const given = (inputSchema.properties as Record<string, { properties: object }>)[part]!;
    const { _version, ...fields } = schemas[schema].properties;
    t.same(Object.keys(given.properties), Object.keys(fields), name);
    const { rank } = given.properties as Record<string, JsonObject>;
    t.same(rank, fields.rank, name);
  }
  const { value } = await without.call('notes_create', { record: { text: 'Lamp', rank: 2 } });
  t.match(value.record, { text: 'Lamp', rank: 2 });
});

t.test('input schemas are those of the declarations', async (t) => {
  const { client } = await declared(t);
  const { tools } = await client.listTools();
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into it as it likes
  const schemaOf = (name: string): any => tools.find((tool) => tool.name === name)!.inputSchema;
  t.notMatch(JSON.stringify(tools), /"x-/, 'without the keywords of declarations');

  const created = schemaOf('notes_create');
  t.same(created.required, ['record']);
  const { record } = created.properties;
  t.same(record.required, ['text']);
  t.equal(record.additionalProperties, false);
  t.notOk('checked' in record.properties, 'not what only the service sets');
  t.same(record.properties.secret, { type: 'string', writeOnly: true });
  t.equal(record.properties.parent.$ref, '#/$defs/notes.json~1$defs~1link');
  t.equal(record.properties.place.$ref, '#/$defs/_shared.json~1$defs~1place');
  const place = created.$defs['_shared.json/$defs/place'];
  t.equal(place.properties.city.$ref, '#/$defs/_shared.json~1$defs~1city');

  const { patch } = schemaOf('notes_update').properties;
  t.notOk('required' in patch);
  t.same(patch.properties.text.type, 'string', 'a required field cannot be removed');
  for (const name of ['rank', 'kind']) t.same(patch.properties[name].anyOf[1], { type: 'null' }, name);
  t.equal(patch.properties.parent.anyOf[0].$ref, '#/$defs/notes.json~1$defs~1link');

  const { filter, sort, search } = schemaOf('notes_list').properties;
  const members = words(`
    _version and created_at id kind not or rank tags text updated_at user userId
  `);
  t.same(Object.keys(filter.properties).sort(), members);
  t.same(filter.properties.rank.properties.gte, { type: 'number' });
  t.match(filter.properties.rank.properties.in, { type: 'array', items: { type: 'number' } });
  t.same(Object.keys(filter.properties.tags.properties), ['has', 'any']);
  t.ok(sort.items.enum.includes('-rank'));
  t.match(search.description, /text/);
  t.notOk(JSON.stringify(schemaOf('users_create')).includes('password_hash'), 'only an import sets it');
});

for (const [name, record, patch, changed] of [
  ['items', { name: 'Lamp', price: 2 }, { price: 3 }, { name: 'Lamp', price: 3 }],
  ['notes', { text: 'Lamp', rank: 2 }, { rank: null, kind: 'task' }, { text: 'Lamp', kind: 'task' }],
] as const) {
  t.test(`each tool works on ${name}`, async (t) => {
    const { call, send } = await declared(t);
    const created = await call(`${name}_create`, { record });
    t.match(created, { isError: false, value: { etag: '"1"', record: { ...record, _version: 1 } } });
    const { id } = created.value.record;
    const got = await call(`${name}_get`, { id });
    t.same(got.value, created.value);
    const updated = await call(`${name}_update`, { id, patch, ifMatch: got.value.etag });
    t.match(updated.value, { etag: '"2"', record: changed });
    const listed = await call(`${name}_list`);
    t.same(listed.value.meta, { page: 1, limit: 20, total: 1, totalPages: 1 });
    t.match(listed.value.data, [changed]);
    t.match((await send('GET', `/${name}/${id}`)).json, changed);
    t.same((await call(`${name}_delete`, { id, ifMatch: 2 })).value, { id, deleted: true });
    t.match(await call(`${name}_get`, { id }), refusal({ status: 404 }));
    t.match(await call(`${name}_update`, { id, patch }), refusal({ status: 404 }));
  });
}

t.test('lists are filtered, sorted, searched and cut into pages', async (t) => {
  const { call, send } = await declared(t);
  for (const [text, rank, tags] of [
    ['Desk lamp', 1, ['a']],
    ['Floor lamp', 2, ['a', 'b']],
    ['Chair', 3, ['c,d']],
  ] as const)
    await send('POST', '/notes', { body: { text, rank, tags, kind: rank === 3 ? 'task' : 'plain' } });
  const texts = async (args: Parameters<typeof call>[1]) =>
    (await call('notes_list', args)).value.data.map(({ text }: { text: string }) => text);
  t.same(await texts({ sort: ['-rank'] }), ['Chair', 'Floor lamp', 'Desk lamp']);
  t.same(await texts({ sort: ['kind', '-rank'] }), ['Floor lamp', 'Desk lamp', 'Chair']);
  t.same(await texts({ search: 'LAMP', sort: ['rank'] }), ['Desk lamp', 'Floor lamp']);
  t.same(await texts({ filter: { rank: { gte: 2, lt: 3 } } }), ['Floor lamp']);
  t.same(await texts({ filter: { rank: { in: [1, 3] } }, sort: ['rank'] }), ['Desk lamp', 'Chair']);
  t.same(await texts({ filter: { kind: { in: ['task'] } } }), ['Chair']);
  t.same(await texts({ filter: { kind: { in: ['task,plain'] } } }), []);
  t.same(await texts({ filter: { tags: { has: 'c,d' } } }), ['Chair']);
  t.same(await texts({ filter: { text: { contains: 'desk' } } }), ['Desk lamp']);
  t.same(await texts({ filter: { rank: { null: true } } }), []);
  t.same(await texts({ limit: 2, page: 2, sort: ['rank'] }), ['Chair']);
  const few = await call('notes_list', { fields: ['text'], limit: 1, count: 'none', sort: ['rank'] });
  t.same(few.value.data, [{ id: few.value.data[0].id, text: 'Desk lamp' }]);
  t.notOk('total' in few.value.meta);
});

t.test('lists have their form also with COMPAT=json-server', async (t) => {
  const { call, send } = await builtIn(t, { COMPAT: 'json-server' });
  await send('POST', '/items', { body: { name: 'Lamp' } });
  t.match((await call('items_list')).value, { data: [{ name: 'Lamp' }], meta: { total: 1 } });
});

t.test('a conflict writes nothing and reports the current version', async (t) => {
  const { call, send } = await declared(t);
  const { value } = await call('items_create', { record: { name: 'Lamp' } });
  const { id } = value.record;
  await send('PATCH', `/items/${id}`, { body: { price: 1 } });
  const conflict = refusal({
    ...{ status: 412, code: 'PRECONDITION_FAILED', message: /current version is 2/, etag: '"2"' },
    details: { current: { id, price: 1, _version: 2 } },
  });
  for (const ifMatch of [value.etag, value.record._version, '1']) {
    t.match(await call('items_update', { id, patch: { price: 5 }, ifMatch }), conflict);
    t.match(await call('items_delete', { id, ifMatch }), conflict);
  }
  const outdated = await call('items_update', { id, patch: { price: 5, _version: 1 } });
  t.match(outdated, refusal({ status: 409, code: 'VERSION_CONFLICT', etag: '"2"' }));
  t.equal((await call('items_get', { id })).value.record.price, 1);
});

t.test('an upsert creates and replaces the record with a unique value', async (t) => {
  const { call } = await declared(t);
  const key = { email: 'ann@example.org' };
  const created = await call('users_upsert', { key, record: { name: 'Ann' } });
  t.match(created.value, { etag: '"1"', record: { ...key, name: 'Ann' } });
  const replaced = await call('users_upsert', { key, record: { name: 'Anna' }, ifMatch: created.value.etag });
  t.match(replaced.value, { etag: '"2"', record: { id: created.value.record.id, ...key, name: 'Anna' } });
  t.equal((await call('users_list')).value.meta.total, 1);
  const outdated = await call('users_upsert', { key, record: { name: 'A' }, ifMatch: created.value.etag });
  t.match(outdated, refusal({ code: 'PRECONDITION_FAILED' }));
  for (const [args, code] of [
    [{ key: { name: 'Ann' }, record: { name: 'Ann' } }, 'INVALID_QUERY'],
    [{ key: {}, record: { name: 'Ann' } }, 'VALIDATION_ERROR'],
  ] as const)
    t.match(await call('users_upsert', args), refusal({ code }));
});

t.test('with REQUIRE_IF_MATCH, a write needs ifMatch', async (t) => {
  const { client, call } = await builtIn(t, { REQUIRE_IF_MATCH: 'on' });
  const { tools } = await client.listTools();
  t.same(tools.find(({ name }) => name === 'items_delete')!.inputSchema.required, ['id', 'ifMatch']);
  const { value } = await call('items_create', { record: { name: 'Lamp' } });
  const { id } = value.record;
  const failed = await call('items_delete', { id });
  t.match(failed, refusal({ code: 'VALIDATION_ERROR' }));
  t.match(await call('items_delete', { id, ifMatch: value.etag }), { isError: false });
});

t.test('a call with an idempotency key takes place once', async (t) => {
  const { call } = await builtIn(t);
  const args = { record: { name: 'Lamp' }, idempotencyKey: 'k-1' };
  const first = await call('items_create', args);
  const again = await call('items_create', args);
  t.same(again.value, { etag: '"1"', replayed: true, record: first.value.record });
  t.equal((await call('items_list')).value.meta.total, 1);
  const groups = await call('items_group', { aggregate: ['count'], filter: { name: 'Lamp' } });
  t.same(groups.value, { data: [{ count: 1 }], meta: { groups: 1 } });
  t.match(await call('items_group', { group: ['colour'] }), { isError: true });
  const reused = await call('items_create', { ...args, record: { name: 'Chair' } });
  t.match(reused, refusal({ status: 422, code: 'IDEMPOTENCY_KEY_REUSED' }));
});

t.test('invalid arguments and records are errors with details', async (t) => {
  const { client, call } = await declared(t);
  const { id } = (await call('items_create', { record: { name: 'Lamp' } })).value.record;
  const invalid = 'VALIDATION_ERROR';
  const rows: [name: string, args: object, code: string, details?: unknown][] = [
    ['items_get', {}, invalid, [{ path: '/id', keyword: 'required' }]],
    ['items_get', { id: 7 }, invalid, [{ path: '/id', keyword: 'type' }]],
    ['items_get', { id: 'a', more: 1 }, invalid, [{ path: '/more' }]],
    ['items_list', { limit: 101 }, invalid, [{ path: '/limit', keyword: 'maximum' }]],
    ['items_list', { page: 0 }, invalid, [{ path: '/page' }]],
    ['items_list', { sort: ['colour'] }, invalid, [{ path: '/sort/0', keyword: 'enum' }]],
    ['items_list', { filter: { colour: { eq: 1 } } }, 'INVALID_QUERY', { parameter: 'filter[colour]' }],
    ['items_list', { filter: { price: { like: 1 } } }, 'INVALID_QUERY'],
    ['items_list', { filter: { price: { gt: 'x' } } }, 'INVALID_QUERY'],
    ['items_list', { filter: 'price' }, invalid, [{ path: '/filter', keyword: 'type' }]],
    ['notes_list', { fields: ['colour'] }, 'INVALID_QUERY', { parameter: 'fields' }],
    ['items_create', { record: { name: '' } }, invalid, [{ path: '/name', keyword: 'minLength' }]],
    ['items_create', { record: 'Lamp' }, invalid, [{ path: '/record', keyword: 'type' }]],
    ['notes_create', { record: { text: 'a', colour: 1 } }, invalid, [{ path: '/colour' }]],
    ['items_update', { id: 'a', patch: { price: 1 } }, 'NOT_FOUND'],
    // A path is not made of it.
    ['items_get', { id: '../users' }, 'NOT_FOUND'],
    ['items_update', { id, patch: { price: 'much' } }, invalid, [{ path: '/price' }]],
    ['items_update', { id, patch: { price: 1 }, ifMatch: 'a b' }, 'BAD_REQUEST'],
  ];
  for (const [name, args, code, details] of rows) {
    const expected = refusal({ code, message: String, ...(details !== undefined && { details }) });
    t.match(await call(name, args as JsonObject), expected, `${name} ${JSON.stringify(args)}`);
  }
  await t.rejects(client.callTool({ name: 'items_drop', arguments: {} }), { code: -32_602 });
});

t.test('a page of many bytes is an error', async (t) => {
  const { call, send } = await builtIn(t);

  for (let index = 0; index < 3; index++)
    await send('POST', '/items', { body: { name: 'Lamp', text: 'x'.repeat(600_000) } });
  const large = { status: 413, code: 'RESPONSE_TOO_LARGE', message: /smaller limit/ };
  t.match(await call('items_list'), refusal(large));
  const { value } = await call('items_list', { limit: 1, page: 2 });
  t.same(value.meta, { page: 2, limit: 1, total: 3, totalPages: 3 });
  const [{ id, text }] = value.data;
  t.equal(text.length, 600_000, 'one of the records is not too large');
  t.equal((await call('items_get', { id })).value.record.text.length, 600_000);
});

t.test('records and the list of collections are resources', async (t) => {
  const { client, call } = await declared(t);
  t.match((await client.listResources()).resources, [{ uri: 'plinth:collections' }]);
  const { resourceTemplates } = await client.listResourceTemplates();
  const templates = words('plinth://items/{id} plinth://notes/{id} plinth://users/{id}');
  t.same(resourceTemplates.map(({ uriTemplate }) => uriTemplate).sort(), templates);
  const read = async (uri: string) => {
    const [content] = (await client.readResource({ uri })).contents as { text: string; mimeType: string }[];
    t.equal(content!.mimeType, 'application/json');
    return JSON.parse(content!.text);
  };
  const { collections } = await read('plinth:collections');
  const notes = collections.find(({ name }: { name: string }) => name === 'notes');
  t.equal(notes.uriTemplate, 'plinth://notes/{id}');
  t.match(notes.schema, { properties: { checked: { readOnly: true } } });
  t.notOk('secret' in notes.schema.properties);
  t.ok(notes.schema.$defs['_shared.json/$defs/place']);
  const { value } = await call('notes_create', { record: { text: 'a', secret: 'b' } });
  t.same(await read(`plinth://notes/${value.record.id}`), value.record);
  const missing = words(`
    plinth://notes/a plinth://keys/a plinth://notes/a/b plinth://notes/%2e%2e%2fkeys other:a
  `);
  for (const uri of missing) await t.rejects(client.readResource({ uri }), { code: -32_002 }, uri);
});

t.test('schemas with identifiers and anchors are valid in every document', async (t) => {
  const named = {
    title: 'Place',
    type: 'object',
    properties: {
      one: { anyOf: [{ $id: 'one', type: 'string', $anchor: 'text' }, { type: 'null' }] },
      two: { $ref: 'one' },
      three: { $ref: 'one#text' },
      four: { $ref: '#é' },
      five: { $ref: '_places.json#place' },
      six: { $ref: '#é' },
      seven: { $ref: '#/$defs/a%25b' },
      nothing: { type: 'null' },
    },
    $defs: { é: { $anchor: 'named', type: 'string' }, 'a%b': { $ref: '#named' } },
  };
  // An anchor is a name of ASCII characters.
  const text = JSON.stringify(named).replaceAll('#é', '#named');
  const service = await testService(t, {
    MCP: 'on',
    MIGRATE: 'auto',
    COLLECTIONS: declare(t, {
      'places.json': text,
      '_places.json': {
        $defs: { a: { $anchor: 'place', type: 'object', properties: { b: { $ref: '#place' } } } },
      },
    }),
  });
  const body = { one: 'a', two: 'b', three: 'c', four: 'd', five: { b: {} }, six: 'e', seven: 'f' };
  t.equal((await service.send('POST', '/places', { body })).status, 201);
  t.equal((await service.send('POST', '/places', { body: { six: 1 } })).status, 400);
  const { client } = await connect(t, service.url);
  for (const { name, inputSchema } of (await client.listTools()).tools) {
    const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(inputSchema);
    if (!/^places_(create|update)$/.test(name)) continue;
    const given = (record: JsonObject) => (name.endsWith('create') ? { record } : { id: 'a', patch: record });
    t.equal(validate(given(body)), true, `${name}: ${JSON.stringify(validate.errors)}`);
    for (const wrong of [{ two: 1 }, { three: 1 }, { four: 1 }, { five: { b: 1 } }, { six: 1 }, { seven: 1 }])
      t.equal(validate(given(wrong)), false, `${name} ${JSON.stringify(wrong)}`);
  }
  const called = await client.callTool({ name: 'places_create', arguments: { record: body } });
  t.notOk(called.isError, JSON.stringify(called));
  for (const prefix of ['', '/api/v2']) {
    const { status, json } = await service.send('GET', `${prefix}/openapi.json`);
    t.equal(status, 200);
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema({ $id: 'document', components: json.components }, 'document');
    for (const name of Object.keys(json.components.schemas))
      t.ok(ajv.getSchema(`document#/components/schemas/${name}`), name);
  }
});

t.test('an address, a body and a tool find alike whether there are related records', async (t) => {
  const { client, send } = await declared(t);
  const [ann] = await Promise.all(
    ['ann', 'bob'].map(async (name) => {
      const made = await send('POST', '/users', { body: { name, email: `${name}@example.org` } });
      return made.json.id as string;
    }),
  );
  await send('POST', '/notes', { body: { text: 'a', userId: ann } });
  for (const [quantifier, conditions, name] of [
    ['some', true, 'ann'],
    ['some', {}, 'ann'],
    ['none', true, 'bob'],
    ['none', {}, 'bob'],
  ] as const) {
    const filter = { notes: { [quantifier]: conditions } };
    const says = JSON.stringify(filter);
    const names = (list: JsonObject) => (list.data as JsonObject[]).map((user) => user.name);
    t.same(names((await send('QUERY', '/users', { body: { filter } })).json), [name], says);
    t.same(names((await send('GET', `/users?page=1&filter[notes][${quantifier}]=true`)).json), [name], says);
    const called = await client.callTool({ name: 'users_list', arguments: { filter } });
    t.same(names(called.structuredContent as JsonObject), [name], says);
  }
  for (const filter of [{ notes: {} }, { notes: { some: false } }, { notes: { every: {} } }, { not: {} }]) {
    const says = JSON.stringify(filter);
    t.equal((await send('QUERY', '/users', { body: { filter } })).status, 400, says);
    t.equal((await client.callTool({ name: 'users_list', arguments: { filter } })).isError, true, says);
  }
});

t.test('groups without a group are one, whatever else a call has', async (t) => {
  const { call, send } = await declared(t);
  for (const text of ['Tea', 'Toast', 'Milk'])
    t.equal((await send('POST', '/notes', { body: { text, kind: 'plain' } })).status, 201);
  for (const [args, count] of [
    [{}, 3],
    [{ search: 'T' }, 2],
    [{ filter: {} }, 3],
    [{ filter: { text: { contains: 'Tea' } } }, 1],
    [{ filter: { kind: 'plain' } }, 3],
    [{ limit: 1 }, 3],
    [{ sort: ['-count'] }, 3],
    [{ search: 'x', limit: 5, sort: ['count'] }, 0],
    [{ group: ['kind'], search: 'T' }, 2],
  ] as const) {
    const { value } = await call('notes_group', { ...args } as JsonObject);
    t.match(value, { data: [{ count }], meta: { groups: 1 } }, JSON.stringify(args));
  }
});

t.test('no arguments of a tool are an internal error', async (t) => {
  const { client, call } = await declared(t);
  const odd: Record<string, readonly unknown[]> = {
    id: ['', ' ', '\0', '..', '%', '../users', 'x'.repeat(100), 1, null, {}],
    ifMatch: ['', '"', '*', '\0', 0, 1e300, null],
    idempotencyKey: ['', '"', 'ä', 'x'.repeat(201), null],
    record: [{}, [], null, '', { text: '\0' }, { text: '\ud800' }, JSON.parse('{"__proto__": {"a": 1}}')],
    patch: [{}, [], null, { text: null }, { id: null }, { _version: 'x' }, { constructor: {} }],
    key: [{}, [], null, { email: '\0' }, { email: '' }, { nothing: 1 }, { and: 1 }, { '': 1 }],
    fields: [[], [''], ['\0'], [{}], [{ '': [] }], [{ user: [1] }], [{ user: [{}] }], [null], 'text'],
    include: [[], [''], ['\0'], ['user.user.user.user'], ['.'], [1], null],
    page: [0, -1, 1.5, 1e300, '1', null],
    limit: [0, 101, 1001, 1.5, '1', null],
    sort: [[], [''], ['-'], ['--text'], ['\0'], [1], [null], 'text'],
    search: ['', ' ', '\0', '\ud800', 'x'.repeat(200_000), 1, null],
    filter: [
      ...[{}, [], null, { '': 1 }, { text: {} }, { kind: { in: [] } }, { kind: '\0' }, { or: [] }],
      ...[{ or: [{}] }, { not: {} }, { and: { x: 1 } }, { user: { name: {} } }],
      JSON.parse('{"__proto__": 1}'),
    ],
    count: ['', 'none', 'exact', 1, null],
    excerpts: [true, 'x', null],
    group: [[], [''], ['\0'], ['text'], ['count'], ['kind', 'kind'], null, 'kind'],
    aggregate: [[], [''], ['sum(text)'], ['count', 'count'], ['sum(rank)', 'count(*)'], null],
    unknown: [1],
  };
  const VALID: Record<string, unknown> = {
    id: '01a22351-f82c-70f5-bc0e-ff1c92debecd',
    record: { text: 'x', name: 'x', email: 'a@b.example' },
    patch: { text: 'y' },
    key: { email: 'a@b.example' },
  };
  const { tools } = await client.listTools();
  for (const { name, inputSchema } of tools.filter((each) => /^notes_|^users_upsert/.test(each.name))) {
    t.notOk((await call(name)).value.error?.status === 500, `${name} without arguments`);
    const required = Object.fromEntries((inputSchema.required ?? []).map((each) => [each, VALID[each]]));
    const own = inputSchema.properties as JsonObject;
    // An argument of another tool is an unknown one.
    for (const [argument, values] of Object.entries(odd).filter(
      ([each]) => each in own || each === 'unknown',
    ))
      for (const value of values) {
        const args = { ...required, [argument]: value } as JsonObject;
        const outcome = await call(name, args).catch(({ code }) => code);
        const isRefused = outcome === 400 || outcome.value.error?.status !== 500;
        t.ok(isRefused, `${name} ${JSON.stringify(args).slice(0, 100)}`);
      }
  }
});
