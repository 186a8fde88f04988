import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Json, JsonObject } from '../../src/json.js';
import { connect } from '../features/mcp/session.js';
import { declare } from '../support/collections.js';
import { testService } from '../support/service.js';
import t from '../support/test.js';

/** Members that are called like keywords, which a declaration may name wherever it names anything. */
const NAMES = ['default', 'description', '$ref', 'const', 'properties', 'x-index', 'items', 'required'];
const each = <T extends Json>(value: (name: string) => T): JsonObject =>
  Object.fromEntries(NAMES.map((name) => [name, value(name)]));
const others = (name: string) => NAMES.filter((each) => each !== name).slice(0, 1);

/** Schemas of an object, by the keyword that names members. */
const SCHEMAS: Readonly<Record<string, JsonObject>> = {
  properties: { properties: each(() => ({ type: 'string', default: 'd', maxLength: 3 })) },
  required: { required: NAMES },
  dependentRequired: { dependentRequired: each(others) },
  dependentSchemas: { dependentSchemas: each((name) => ({ required: others(name) })) },
  patternProperties: { patternProperties: { '^def': { const: 'd' } } },
  const: { const: each((name) => name) },
  enum: { enum: [each((name) => name), each(() => 1)] },
  nested: { anyOf: [{ properties: each(() => ({ type: 'string', title: 'D' })), required: ['default'] }] },
};
/** Values of such an object. */
const VALUES: readonly JsonObject[] = [
  {},
  each((name) => name),
  each(() => 'd'),
  each(() => 1),
  ...NAMES.map((name): JsonObject => ({ [name]: 'd' })),
  ...NAMES.map(
    (name): JsonObject => Object.fromEntries(NAMES.filter((one) => one !== name).map((one) => [one, 'd'])),
  ),
];

t.test('documents and validation agree on members that are called like keywords', async (t) => {
  const fields = Object.entries(SCHEMAS).map(([name, schema]): [string, JsonObject] => [
    name,
    { type: 'object', ...schema },
  ]);
  const things = { title: 'Thing', type: 'object', properties: Object.fromEntries(fields) };
  const service = await testService(t, {
    COLLECTIONS: declare(t, { 'things.json': things }),
    MIGRATE: 'auto',
    MCP: 'on',
  });
  const document = (await service.send('GET', '/openapi.json')).json;
  const operation = document.paths['/things'].post.requestBody.content['application/json'].schema;
  const { client } = await connect(t, service.url);
  const tool = (await client.listTools()).tools.find(({ name }) => name === 'things_create')!;
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema({ $id: 'openapi', ...document }, 'openapi');
  const byOpenApi = ajv.compile({ $ref: `openapi${operation.$ref}` });
  const byMcp = new Ajv2020({ strict: false, validateFormats: false }).compile(tool.inputSchema);
  let accepted = 0;
  for (const [name] of fields)
    for (const value of VALUES) {
      const { status } = await service.send('POST', '/things', { body: { [name]: value } });
      const isValid = status === 201;
      if (isValid) accepted++;
      else t.equal(status, 400);
      const text = `${name} ${JSON.stringify(value)}`;
      t.equal(byOpenApi({ [name]: value }), isValid, `OpenAPI: ${text}`);
      t.equal(byMcp({ record: { [name]: value } }), isValid, `MCP: ${text}`);
    }
  t.ok(accepted > fields.length && accepted < fields.length * VALUES.length);
});
