import { makeKey } from '../support/credentials.js';
import { testService } from '../support/service.js';
import t from '../support/test.js';

const FOREIGN = [
  { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
  { 'sec-fetch-site': 'same-site' },
  { origin: 'null' },
];
const UNSAFE = ['post', 'put', 'patch', 'delete'];

/** Settings that decide which operations there are, and which of them take a credential. */
const SETTINGS: Readonly<Record<string, Record<string, string>>> = {
  'without AUTH': {},
  'with Basic and all features': {
    AUTH: 'api-key, basic, bearer',
    INSECURE: 'basic',
    BASIC_SCOPES: 'admin',
    AUTH_SERVER: 'on',
    PUBLIC_URL: 'http://127.0.0.1:3000',
    TOMBSTONES: 'on',
    REQUIRE_IF_MATCH: 'on',
  },
};

type Operations = Record<string, { readonly responses: Record<string, { readonly $ref?: string }> }>;

for (const [name, env] of Object.entries(SETTINGS))
  for (const mount of ['', '/api/v2'])
    t.test(`each unsafe operation of ${mount}/ refuses pages of other sites, ${name}`, async (t) => {
      const service = await testService(t, env);
      const { send } = service;
      const headers: Record<string, string> = {};
      if ('AUTH' in env) {
        const user = { email: 'ada@example.org', name: 'Ada', password: 'a long enough password 1' };
        const key = { 'x-api-key': (await makeKey(service.db)).key };
        t.equal((await send('POST', '/users', { headers: key, body: user })).status, 201);
        headers.authorization = `Basic ${Buffer.from(`${user.email}:${user.password}`).toString('base64')}`;
      }
      const { json } = await send('GET', `${mount}/openapi.json`, { headers });
      const operations = Object.entries(json.paths as Record<string, Operations>).flatMap(([path, item]) =>
        UNSAFE.filter((method) => item[method]).map((method) => ({ method, path, ...item[method]! })),
      );
      t.ok(operations.length > 20, 'the document has them');
      for (const { method, path, responses } of operations) {
        t.match(responses[403]?.$ref, /\bORIGIN_NOT_ALLOWED\b/, `the document of ${method} ${path}`);
        // Writes to several records need a filter.
        const target = `${mount}${path.replace(/\{\w+\}/g, '018bcfe5-6800-7000-8000-000000000000')}?filter=x`;
        for (const from of FOREIGN) {
          const response = await send(method.toUpperCase(), target, { headers: { ...headers, ...from } });
          const why = `${method} ${target} from ${JSON.stringify(from)}`;
          t.match(response, { status: 403, text: /\bORIGIN_NOT_ALLOWED\b/ }, why);
        }
      }
    });
