import { checkDeclarations } from '../../src/declarations/check-declarations.js';
import { readDeclarations } from '../../src/declarations/read-declarations.js';
import { declare } from '../support/collections.js';
import { NAMES, serviceWithThings } from '../support/peculiar-fields.js';
import { testService } from '../support/service.js';
import t from '../support/test.js';

interface Parameter {
  readonly name: string;
  readonly schema: { readonly items?: { readonly enum?: readonly string[] } };
}

const escaped = (name: string) => name.replace(/[\\[\],]/g, '\\$&').replace(/^-/, '\\-');
const encoded = (name: string) => encodeURIComponent(escaped(name));

t.test('a record with peculiar names is stored, filtered, sorted and selected', async (t) => {
  const { send } = await serviceWithThings(t);
  t.equal((await send('POST', '/things', { body: {} })).status, 201);
  for (const name of NAMES) {
    const query = `filter[${encoded(name)}]=v1&filter[${encoded(name)}][prefix]=v&fields=${encoded(name)},id`;
    const sorts = `filter[${encoded(name)}][null]=false&sort=-${encoded(name)},created_at&fields=${encoded(name)}`;
    const single = `page=1&sort=${encoded(name)}&order=asc&limit=1`;
    for (const path of ['/things', '/api/v2/things']) {
      const found = await send('GET', `${path}?${query}`);
      t.match([found.status, found.json.data], [200, [{ [name]: 'v1' }]], `${path} ${name}`);
      t.equal(found.json.data.length, 1);
      t.same(
        Object.keys(found.json.data[0])
          .filter((key) => key !== '_links')
          .sort(),
        [name, 'id'].sort(),
      );
      const sorted = await send('GET', `${path}?${sorts}`);
      t.same(
        sorted.json.data?.map((each: Record<string, string>) => each[name]),
        ['v2', 'v1'],
        `${path} ${name}`,
      );
      const body = { filter: { [name]: { in: ['v1', 'v2'] } }, sort: [name, 'created_at'], fields: [name] };
      const queried = await send('QUERY', path, { body });
      t.same(
        queried.json.data?.map((each: Record<string, string>) => each[name]),
        ['v1', 'v2'],
        `QUERY ${path} ${name}`,
      );
      const again = await send('GET', queried.headers.location!);
      t.same(again.json.data, queried.json.data, 'Location is the same query');
    }
    const { id } = (await send('GET', `/things?filter[${encoded(name)}]=v1`)).json.data[0];
    for (const path of [`/things/${id}`, `/api/v2/things/${id}`]) {
      const one = await send('GET', `${path}?fields=${encoded(name)}`);
      const { _links: _, ...fields } = one.json;
      t.same(fields, { id, [name]: 'v1' }, `${path} ${name}`);
    }
    const first = await send('GET', `/things?${single}`);
    t.match(first.json.data, [{ [name]: 'v1' }], `one key ${name}`);
    const next = await send('GET', first.json.links.next);
    t.match(next.json.data, [{ [name]: 'v2' }], `its next page ${name}`);
    const equal = await send('QUERY', '/things', {
      body: { filter: { [name]: 'v2' }, sort: [`-${name}`] },
    });
    t.equal(equal.json.data?.length, 1, `QUERY ${name}`);
  }
});

t.test('the OpenAPI document names filters, sort keys and fields as the address has them', async (t) => {
  const { send } = await serviceWithThings(t);
  const document = (await send('GET', '/openapi.json')).json;
  const given = document.paths['/things'].get.parameters as ({ $ref?: string } & Parameter)[];
  const parameters = given.map((each) =>
    each.$ref === undefined
      ? each
      : (document.components.parameters[each.$ref.split('/').at(-1)!] as Parameter),
  );
  const own = ['id', 'created_at', 'updated_at', '_version'].map((name) => `filter[${name}]`);
  const equal = parameters.filter(
    ({ name }) =>
      !own.includes(name) &&
      /^filter\[(?!.*\]\[(ne|lt|gt|lte|gte|between|in|nin|prefix|null)\]$)/s.test(name),
  );
  t.equal(equal.length, NAMES.length);
  const values = ['sort', 'fields'].flatMap((name) => {
    const { items } = parameters.find((each) => each.name === name)!.schema;
    return items!.enum!.map((value) => [name, value] as const);
  });
  t.ok(values.length > NAMES.length * 3, `${values.length} values`);
  for (const [name, value] of [...equal.map((each) => [each.name, 'v1'] as const), ...values]) {
    const query = String(new URLSearchParams({ [name]: value, count: 'none' }));
    const found = await send('GET', `/things?${query}`);
    t.equal(found.status, 200, `${query} ${found.text.slice(0, 200)}`);
    if (name.startsWith('filter')) t.equal(found.json.data.length, 1, name);
  }
});

t.test('rules, defaults and forbidden fields know members of the record alone', async (t) => {
  const names = Object.getOwnPropertyNames(Object.prototype).filter((name) => name !== '__proto__');
  const fields = (rules: unknown) => Object.fromEntries(names.map((name) => [name, rules]));
  const { send } = await testService(t, {
    MIGRATE: 'auto',
    COLLECTIONS: declare(t, {
      'closed.json': { type: 'object', properties: {}, additionalProperties: false },
      'required.json': { type: 'object', required: names, properties: fields({ type: 'string' }) },
      'defaults.json': { type: 'object', properties: fields({ type: 'string', default: 'd' }) },
      'evaluated.json': { type: 'object', properties: { a: {} }, unevaluatedProperties: false },
    }),
  });
  const missing = await send('POST', '/required', { body: {} });
  t.same(
    missing.json.errors.map(({ path }: { path: string }) => path).sort(),
    names.map((name) => `/${name}`).sort(),
  );
  t.equal((await send('POST', '/required', { body: fields('x') })).status, 201);
  t.match((await send('POST', '/defaults', { body: {} })).json, fields('d'));
  for (const name of names)
    for (const path of ['/closed', '/evaluated'])
      t.equal((await send('POST', path, { body: { [name]: 1 } })).status, 400, `${path} ${name}`);
});

t.test('__proto__ cannot be declared, since no rule of it would be checked', (t) => {
  const nested =
    '{"type":"object","properties":{"a":{"type":"object","properties":{"__proto__":{"type":"string"}}}}}';
  for (const text of [nested, '{"type":"object","properties":{"__proto__":{"type":"string"}}}'])
    t.throws(
      () => checkDeclarations(readDeclarations(declare(t, { 'a.json': text }))),
      /properties\/__proto__: cannot be declared/,
    );
  t.end();
});
