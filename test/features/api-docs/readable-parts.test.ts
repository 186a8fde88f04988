import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import formats from 'ajv-formats';
import type { JsonObject } from '../../../src/json.js';
import { createAjv } from '../../../src/validation/ajv.js';
import { declare } from '../../support/collections.js';
import { makeKey } from '../../support/credentials.js';
import { testService, undeclaredDatabase } from '../../support/service.js';
import t, { type Test } from '../../support/test.js';
import { connect } from '../mcp/session.js';

const text = { type: 'string', 'x-index': true } as const;

const DECLARATIONS = {
  'cabins.json': {
    type: 'object',
    properties: { cabinlabel: text, cabincode: text },
    'x-collection': {
      access: [
        { can: 'read', fields: ['cabinlabel'] },
        { can: 'all', scope: 'staff' },
      ],
    },
  },
  'people.json': {
    title: 'Person',
    type: 'object',
    required: ['fullname', 'passport'],
    properties: {
      fullname: { ...text, 'x-search': 'words' },
      nickname: { type: 'string', maxLength: 20 },
      passport: { type: 'string', 'x-unique': true, 'x-search': true },
      salary: { $ref: '#/$defs/wages' },
      bonus: { type: 'number', 'x-index': true },
      cabinref: { type: 'string', 'x-references': 'cabins' },
      badge: { type: 'string', writeOnly: true },
      birthday: { ...text, format: 'date' },
    },
    additionalProperties: false,
    minProperties: 2,
    dependentRequired: { bonus: ['passport'], nickname: ['fullname'] },
    if: { required: ['bonus'] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
    then: { required: ['passport'] },
    $defs: { wages: { type: 'object', properties: { grosspay: { type: 'number' } } } },
    'x-collection': {
      list: 'page',
      access: [
        { can: 'read', to: 'anyone', fields: ['fullname', 'birthday'] },
        { can: 'read', scope: 'people:read', fields: ['nickname', 'cabinref'] },
        { can: 'create', scope: 'people:write', fields: ['fullname', 'passport', 'badge'] },
        { can: 'update', scope: 'people:write', fields: ['nickname'] },
        { can: 'all', scope: 'staff' },
      ],
    },
  },
};

/** The fields of people by what some caller may do with them; those of grants, and no others. */
const FIELDS = Object.keys(DECLARATIONS['people.json'].properties).filter((name) => name !== 'badge');
const PUBLIC = ['fullname', 'birthday'];
const READER = [...PUBLIC, 'nickname', 'cabinref'];
const NEW = ['fullname', 'passport', 'badge'];

interface Reader {
  readonly scopes?: readonly string[];
  readonly read: readonly string[];
  /** Undefined: the caller creates and changes none. */
  readonly created?: readonly string[];
  readonly patched?: readonly string[];
  readonly replaced?: readonly string[];
  /** Names that the documents have nowhere. */
  readonly unknown: readonly string[];
}

const READERS: Readonly<Record<string, Reader>> = {
  'a stranger': {
    read: PUBLIC,
    unknown: [
      'nickname',
      'passport',
      'salary',
      'bonus',
      'cabinref',
      'badge',
      'grosspay',
      'cabin',
      'PASSPORT',
    ],
  },
  'a reader': {
    scopes: ['people:read', 'cabins:read'],
    read: READER,
    unknown: ['passport', 'salary', 'bonus', 'badge', 'grosspay', 'cabincode', 'PASSPORT'],
  },
  'a reader of cabins': {
    scopes: ['cabins:read'],
    read: PUBLIC,
    unknown: [
      ...['nickname', 'passport', 'salary', 'bonus', 'cabinref', 'badge', 'grosspay', 'cabincode'],
      'PASSPORT',
    ],
  },
  'a writer': {
    scopes: ['people:read', 'people:write', 'cabins:read'],
    read: READER,
    created: NEW,
    patched: ['nickname'],
    replaced: READER,
    unknown: ['salary', 'bonus', 'grosspay', 'cabincode'],
  },
  'the staff': {
    scopes: ['people:write', 'cabins:write', 'staff'],
    read: FIELDS,
    created: [...FIELDS, 'badge'],
    patched: [...FIELDS, 'badge'],
    replaced: [...FIELDS, 'badge'],
    unknown: [],
  },
};

const OWN = ['_excerpts', '_included', '_links', '_version', 'created_at', 'id', 'updated_at'];
const fieldsIn = (schema: JsonObject) =>
  Object.keys(schema.properties as object)
    .filter((name) => !OWN.includes(name))
    .sort();

t.test('documents have the fields that their reader may read or set, and no others', async (t) => {
  const service = await testService(t, {
    COLLECTIONS: declare(t, DECLARATIONS as never),
    DATABASE_URL: await undeclaredDatabase(t),
    AUTH: 'api-key',
  });
  const keyOf = async (scopes: readonly string[]) => ({
    'x-api-key': (await makeKey(service.db, { scopes: [...scopes] })).key,
  });
  const staff = await keyOf(['people:write', 'cabins:write', 'staff']);
  const cabin = await service.send('POST', '/cabins', {
    headers: staff,
    body: { cabinlabel: 'By the window', cabincode: 'W' },
  });
  const person = {
    fullname: 'Ann',
    passport: 'P1',
    salary: { grosspay: 1 },
    bonus: 2,
    birthday: '2000-01-01',
  };
  const created = await service.send('POST', '/people', {
    headers: staff,
    body: { ...person, nickname: 'A', cabinref: cabin.json.id },
  });
  t.equal(created.status, 201, created.text);

  for (const [name, reader] of Object.entries(READERS)) {
    const headers: Record<string, string> = reader.scopes ? await keyOf(reader.scopes) : {};
    for (const path of ['/openapi.json', '/api/v2/openapi.json']) {
      const { text: whole, json } = await service.send('GET', path, { headers });
      const about = `${path} for ${name}`;
      for (const each of reader.unknown) t.notMatch(whole, new RegExp(each), about);
      const schemas = json.components.schemas as Record<string, JsonObject>;
      t.same(fieldsIn(schemas.Person!), [...reader.read].sort(), about);
      t.same(fieldsIn(schemas.PartialPerson!), [...reader.read].sort(), about);
      const bodyOf = (operation: JsonObject | undefined, type: string): string[] | undefined => {
        const content = (operation?.requestBody as JsonObject | undefined)?.content as JsonObject | undefined;
        const schema = (content?.[type] as JsonObject | undefined)?.schema as JsonObject | undefined;
        if (!schema) return undefined;
        const named = String(schema.$ref ?? '')
          .split('/')
          .at(-1)!;
        return fieldsIn(schema.$ref === undefined ? schema : schemas[named]!);
      };
      const sorted = (names: readonly string[] | undefined) => names && [...names].sort();
      const [list, one] = [json.paths['/people'], json.paths['/people/{id}']];
      t.same(bodyOf(list.post, 'application/json'), sorted(reader.created), about);
      t.same(bodyOf(one.patch, 'application/merge-patch+json'), sorted(reader.patched), about);
      t.same(bodyOf(one.put, 'application/json'), sorted(reader.replaced), about);
      const ajv = createAjv({ formats: formats.default, isStrict: false, allErrors: false });
      ajv.addSchema({ $id: 'document', components: json.components }, 'document');
      const fits = ajv.getSchema('document#/components/schemas/Person')!;
      const shown = await service.send('GET', `/people/${created.json.id}`, { headers });
      t.ok(fits(shown.json), `${about}: ${shown.text} ${JSON.stringify(fits.errors)}`);
      t.ok((schemas.Person!.examples as JsonObject[] | undefined)?.length, `${about} has an example`);
    }
  }
});

t.test('tools for agents have the fields that their caller may read or set, and no others', async (t) => {
  const service = await testService(t, {
    COLLECTIONS: declare(t, DECLARATIONS as never),
    DATABASE_URL: await undeclaredDatabase(t),
    AUTH: 'api-key',
    MCP: 'on',
  });
  for (const [name, reader] of Object.entries(READERS)) {
    const { read, created, patched, unknown } = reader;
    // Agents need a credential.
    const { scopes = ['items:read'] } = reader;
    const { key } = await makeKey(service.db, { scopes: [...scopes] });
    const { client } = await connect(t, service.url, { 'x-api-key': key });
    const { tools } = await client.listTools();
    const { resourceTemplates } = await client.listResourceTemplates();
    const { contents } = await client.readResource({ uri: 'plinth:collections' });
    const whole = JSON.stringify([tools, resourceTemplates, contents]);
    for (const each of unknown) t.notMatch(whole, new RegExp(each), name);
    const names = tools.map((tool) => tool.name).filter((tool) => tool.startsWith('people_'));
    const isStaff = scopes.includes('staff');
    t.same(
      names,
      [
        ...['list', 'group', 'get', ...(created ? ['create', 'update'] : [])],
        ...(isStaff ? ['delete', 'upsert'] : []),
      ].map((verb) => `people_${verb}`),
      name,
    );
    // biome-ignore lint/suspicious/noExplicitAny: a test looks into it as it likes
    const argumentsOf = (verb: string): any =>
      tools.find((tool) => tool.name === `people_${verb}`)?.inputSchema.properties;
    t.same(fieldsOf(argumentsOf('create')?.record), created && [...created].sort(), name);
    t.same(fieldsOf(argumentsOf('update')?.patch), patched && [...patched].sort(), name);
    const { filter, sort, include } = argumentsOf('list');
    const compared = Object.keys(filter.properties);
    for (const field of Object.keys(DECLARATIONS['people.json'].properties))
      if (!read.includes(field)) t.notOk(compared.includes(field), `${name}: ${field}`);
    t.equal(include !== undefined, read.includes('cabinref'), name);
    t.ok(compared.includes('fullname') && sort.items.enum.includes('fullname'), name);
    const [content] = contents as { text: string }[];
    const people = JSON.parse(content!.text).collections.find((each: JsonObject) => each.name === 'people');
    t.same(fieldsIn(people.schema), [...read].sort(), name);
    for (const { name: tool, inputSchema } of tools) {
      const ajv = createAjv({ formats: formats.default, isStrict: false, allErrors: false });
      t.ok(ajv.compile(inputSchema), `${tool} for ${name}`);
    }
    await requireUsable(t, client, tools, name);
  }
});

/** The sorted names of the fields in a schema; undefined: there is none. */
const fieldsOf = (schema: JsonObject | undefined) => schema && fieldsIn(schema);

/** Each value that the arguments of lists and groups name is one that the caller may use. */
async function requireUsable(
  t: Test,
  client: Client,
  tools: readonly { readonly name: string; readonly inputSchema: object }[],
  caller: string,
): Promise<void> {
  for (const { name, inputSchema } of tools.filter((tool) => /_(list|group)$/.test(tool.name))) {
    const { properties } = inputSchema as { properties: Record<string, { items?: { enum?: string[] } }> };
    for (const [argument, { items }] of Object.entries(properties))
      for (const value of items?.enum ?? []) {
        const search = value === 'relevance' ? { search: 'a' } : {};
        const { isError, content } = await client.callTool({
          name,
          arguments: { [argument]: [value], ...search },
        });
        t.notOk(isError, `${caller}: ${name} ${argument} ${value}: ${JSON.stringify(content)}`);
      }
  }
}

t.test('errors and the columns of CSV name the fields that their reader may know', async (t) => {
  const service = await testService(t, {
    COLLECTIONS: declare(t, DECLARATIONS as never),
    DATABASE_URL: await undeclaredDatabase(t),
    AUTH: 'api-key',
    MCP: 'on',
  });
  const staff = (await makeKey(service.db, { scopes: ['people:write', 'cabins:write', 'staff'] })).key;
  const { id } = (
    await service.send('POST', '/people', {
      headers: { 'x-api-key': staff },
      body: { fullname: 'Ann', passport: 'P1', bonus: 1 },
    })
  ).json;
  const called = (name: string, args: JsonObject): [string, string, JsonObject] => [
    'POST',
    '/mcp',
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } },
  ];
  const requests: readonly (readonly [method: string, path: string, body?: JsonObject])[] = [
    ['GET', '/people?filter[xyz]=1'],
    ['GET', '/people?filter[not][xyz]=1'],
    ['GET', '/cabins?filter[people][some][xyz]=1'],
    ['GET', '/people?group=xyz'],
    ['GET', '/people?aggregate=sum(xyz)'],
    ['GET', '/people?fields=xyz'],
    ['GET', '/people?include=xyz'],
    ['GET', `/people/${id}?fields=xyz`],
    ['GET', `/people/${id}?include=xyz`],
    ['GET', '/api/v2/people?sort=xyz'],
    ['QUERY', '/people', { sort: ['xyz'] }],
    ['QUERY', '/people', { filter: { xyz: 1 } }],
    ['PUT', '/people?filter[xyz]=1', { fullname: 'Bob' }],
    ['PATCH', '/people?filter[xyz]=1', { nickname: 'Bob' }],
    ['DELETE', '/people?filter[xyz]=1'],
    ['POST', '/people', { fullname: 'Bob', xyz: 1 }],
    ['PATCH', `/people/${id}`, { xyz: 1 }],
    ['PUT', `/people/${id}`, { fullname: 'Bob', xyz: 1 }],
    ['POST', '/batch', { operations: [{ method: 'POST', path: '/people', body: { xyz: 1 } }] }],
    ['GET', '/events?types=xyz'],
    ['GET', '/events?types=people.*&filter[xyz]=1'],
    called('people_list', { sort: ['xyz'] }),
    called('people_list', { filter: { xyz: 1 } }),
    called('people_list', { filter: { fullname: { xyz: 1 } } }),
    called('people_group', { group: ['xyz'] }),
    called('people_group', { aggregate: ['xyz'] }),
    called('people_get', { id, fields: ['xyz'] }),
    called('people_create', { record: { xyz: 1 } }),
    called('people_update', { id, patch: { xyz: 1 } }),
    called('people_upsert', { key: { xyz: 1 }, record: {} }),
  ];
  for (const [name, { scopes, unknown, read }] of Object.entries(READERS)) {
    const key = scopes && (await makeKey(service.db, { scopes: [...scopes, 'events:read'] })).key;
    const headers: Record<string, string> = key === undefined ? {} : { 'x-api-key': key };
    for (const [method, path, body] of requests) {
      const accept = path === '/mcp' ? 'application/json, text/event-stream' : 'application/json';
      const { status, text: found } = await service.send(method, path, {
        headers: { ...headers, accept },
        ...(body && { body }),
      });
      const about = `${name}: ${method} ${path} ${JSON.stringify(body)} ${status} ${found}`;
      t.ok(status >= 400 || (path === '/mcp' && /isError|"error"/.test(found)), about);
      for (const each of unknown) t.notMatch(found, new RegExp(each), about);
    }
    const csv = await service.send('GET', '/people', { headers: { ...headers, accept: 'text/csv' } });
    const columns = csv.text.split('\r\n')[0]!.split(',');
    t.same(columns.filter((column) => !OWN.includes(column)).sort(), [...read].sort(), name);
  }
});

t.test('a request that may create a record has the fields of new records in its body', async (t) => {
  const service = await testService(t, {
    COLLECTIONS: declare(t, {
      'seats.json': {
        title: 'Seat',
        type: 'object',
        required: ['code', 'pin'],
        properties: { code: { type: 'string', 'x-unique': true }, pin: text, row: text, price: text },
        'x-collection': {
          access: [
            { can: 'read', fields: ['code', 'row'] },
            { can: 'create', fields: ['code', 'pin'] },
            { can: 'update', fields: ['row'] },
          ],
        },
      },
    }),
    DATABASE_URL: await undeclaredDatabase(t),
    AUTH: 'api-key',
    MCP: 'on',
  });
  const { key } = await makeKey(service.db, { scopes: ['self'] });
  const headers = { 'x-api-key': key };
  const { json } = await service.send('GET', '/openapi.json', { headers });
  const bodyOf = (path: string): JsonObject =>
    json.paths[path].put.requestBody.content['application/json'].schema;
  t.same(fieldsIn(bodyOf('/seats')), ['code', 'pin', 'row']);
  t.same(fieldsIn(bodyOf('/seats/{id}')), ['code', 'row'], 'clients choose no ids');
  t.same(bodyOf('/seats').required, ['code'], 'a replacement leaves the hidden field');
  const { client } = await connect(t, service.url, headers);
  const { tools } = await client.listTools();
  const { record } = tools.find(({ name }) => name === 'seats_upsert')!.inputSchema.properties as {
    record: JsonObject;
  };
  t.same(fieldsIn(record), ['code', 'pin', 'row']);
  t.same(record.required, ['code']);
});

t.test('each value of a parameter in a document is one that its reader may use', async (t) => {
  const service = await testService(t, {
    COLLECTIONS: declare(t, DECLARATIONS as never),
    DATABASE_URL: await undeclaredDatabase(t),
    AUTH: 'api-key',
  });
  for (const [name, { scopes, read }] of Object.entries(READERS)) {
    const headers: Record<string, string> = scopes
      ? { 'x-api-key': (await makeKey(service.db, { scopes: [...scopes] })).key }
      : {};
    for (const prefix of ['', '/api/v2']) {
      const { json } = await service.send('GET', `${prefix}/openapi.json`, { headers });
      const parameters = json.paths['/people'].get.parameters as JsonObject[];
      const valuesOf = (parameter: string): string[] => {
        const { items } = parameters.find((each) => each.name === parameter)!.schema as { items: JsonObject };
        return (items.enum ?? []) as string[];
      };
      const about = `${prefix}/openapi.json for ${name}`;
      t.same(valuesOf('fields').sort(), [...read].sort(), about);
      for (const parameter of ['fields', 'sort', 'group', 'aggregate']) {
        const values = valuesOf(parameter);
        const named = values.flatMap((each) => /[a-z]+(?=\)?$)/.exec(each) ?? []);
        for (const field of Object.keys(DECLARATIONS['people.json'].properties))
          if (!read.includes(field)) t.notOk(named.includes(field), `${about}: ${parameter} has no ${field}`);
        for (const value of values) {
          const query = new URLSearchParams({
            [parameter]: value,
            ...(value === 'relevance' && { search: 'a' }),
          });
          const { status, text: body } = await service.send('GET', `${prefix}/people?${query}`, { headers });
          t.equal(status, 200, `${about}: ${query} ${body}`);
        }
      }
    }
  }
});

t.test(
  'the controls of a page name the fields that its reader may read, and each of its links works',
  async (t) => {
    const service = await testService(t, {
      COLLECTIONS: declare(t, DECLARATIONS as never),
      DATABASE_URL: await undeclaredDatabase(t),
      AUTH: 'api-key',
    });
    const all = ['people:write', 'cabins:write', 'staff'];
    const staff = { 'x-api-key': (await makeKey(service.db, { scopes: all })).key };
    const made = async (path: string, body: JsonObject): Promise<string> =>
      (await service.send('POST', path, { body, headers: staff })).json.id;
    const cabin = await made('/cabins', { cabinlabel: 'By the window', cabincode: 'W' });
    const id = await made('/people', { fullname: 'Ann Lee', passport: 'P1', cabinref: cabin });
    for (const [name, { scopes, read, created, patched, unknown }] of Object.entries(READERS)) {
      if (!scopes) continue;
      const { key } = await makeKey(service.db, { scopes: [...scopes, 'events:read'] });
      for (const path of ['/people', '/cabins', `/people/${id}`, `/cabins/${cabin}`, '/events']) {
        const shown = await service.send('GET', path, { headers: { 'x-api-key': key, accept: 'text/html' } });
        t.equal(shown.status, 200, `${name}: ${path}`);
        // The form of a new record has fields that no page shows.
        const rest = unknown.filter((each) => !created?.includes(each));
        for (const each of rest) t.notMatch(shown.text, new RegExp(each), `${name}: ${path}`);
      }
      const headers = { 'x-api-key': key, accept: 'text/html' };
      const { text: page } = await service.send('GET', '/people', { headers });
      const controls = [...page.matchAll(/(?:name="filter\[|[?&;]sort=|[?&;]group=)(\w+)/g)].map(
        ([, field]) => field!,
      );
      t.ok(controls.includes('fullname'), name);
      for (const field of Object.keys(DECLARATIONS['people.json'].properties))
        if (!read.includes(field)) t.notOk(controls.includes(field), `${name}: ${field}`);
      const inputs = (html: string) =>
        [...html.matchAll(/<(?:input|textarea|select)[^>]* name="\/(\w+)"/g)]
          .map(([, field]) => field!)
          .sort();
      t.same(inputs(page), [...(created ?? [])].sort(), `${name}: the form of a new record`);
      const one = await service.send('GET', `/people/${id}`, { headers });
      t.same(inputs(one.text), [...(patched ?? [])].sort(), `${name}: the form of a change`);
      const links = [...page.matchAll(/href="(\/people\?[^"]*)"/g)].map(([, href]) =>
        href!.replace(/&(?:amp|#38);/g, '&'),
      );
      t.ok(links.length > 3, name);
      for (const link of new Set(links)) {
        const { status } = await service.send('GET', link, { headers });
        t.equal(status, 200, `${name}: ${link}`);
      }
    }
  },
);
