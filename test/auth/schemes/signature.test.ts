import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { testService } from '../../support/service.js';
import t from '../../support/test.js';

const SECRET = 'the first secret, of more than 32 characters';
const OTHER = 'the second secret, of more than 32 characters';
const ENV = {
  AUTH: 'signature',
  SIGNING_SECRETS: JSON.stringify([
    { id: 'first', secret: SECRET, subject: 'billing', scopes: ['items:write'] },
    { id: 'second', secret: OTHER, subject: 'reports', scopes: ['items:read'] },
  ]),
  AUTH_FAILURES: '0',
};

interface Parts {
  readonly method?: string;
  readonly path?: string;
  readonly body?: string;
  readonly secret?: string;
  readonly timestamp?: number | string;
}

function sign({ method = 'GET', path = '/whoami', body = '', secret = SECRET, timestamp }: Parts = {}) {
  const at = String(timestamp ?? Math.floor(Date.now() / 1000));
  const signature = createHmac('sha256', secret)
    .update(`${at}\n${method}\n${path}\n${body}`)
    .digest('base64');
  return { 'x-timestamp': at, 'x-signature': signature };
}

t.test('a signed request is its signer', async (t) => {
  const { send } = await testService(t, ENV);
  const caller = await send('GET', '/whoami', { headers: sign() });
  t.equal(caller.status, 200);
  t.same(caller.json, { subject: 'billing', scopes: ['items:write'], scheme: 'signature', expires_at: null });
  t.equal(caller.headers['cache-control'], 'no-store');

  const path = '/api/v1/items?_note=a%20b';
  const body = '{"name": "signed",  "price": 1}';
  const options = { body, type: 'application/json' };
  const created = await send('POST', path, { ...options, headers: sign({ method: 'POST', path, body }) });
  t.equal(created.status, 201);
  t.equal((await send('POST', path, { ...options, headers: sign({ method: 'POST', path }) })).status, 401);
  const gone = `/items/${created.json.id}`;
  for (const [signed, status] of [
    ['', 401],
    ['unread', 204],
  ] as const) {
    const headers = sign({ method: 'DELETE', path: gone, body: signed });
    const deleted = await send('DELETE', gone, { body: 'unread', type: 'text/plain', headers });
    t.equal(deleted.status, status, 'an ignored body is signed too');
  }
});

t.test('secrets can be rotated: by name, or any of them', async (t) => {
  const { send } = await testService(t, ENV);
  const subject = async (headers: Record<string, string>) =>
    (await send('GET', '/whoami', { headers })).json?.subject;
  const now = Math.floor(Date.now() / 1000);
  const at = (ago: number) => now - ago;
  t.equal(await subject(sign({ secret: OTHER, timestamp: at(0) })), 'reports');
  t.equal(await subject({ ...sign({ secret: OTHER, timestamp: at(1) }), 'x-key-id': 'second' }), 'reports');
  t.equal(await subject({ ...sign({ secret: OTHER, timestamp: at(2) }), 'x-key-id': 'first' }), undefined);
  t.equal(await subject({ ...sign({ timestamp: at(3) }), 'x-key-id': 'third' }), undefined);
});

t.test('an invalid signature is 401 with a challenge, and reveals nothing of the secret', async (t) => {
  const { send } = await testService(t, ENV);
  const now = Math.floor(Date.now() / 1000);
  const valid = sign({ timestamp: now - 9 });
  const cases: [name: string, headers: Record<string, string>][] = [
    ['no credential', {}],
    ['no timestamp', { 'x-signature': valid['x-signature'] }],
    ['a timestamp in milliseconds', sign({ timestamp: Date.now() })],
    ['no number', sign({ timestamp: 'now' })],
    ['too old', sign({ timestamp: now - 302 })],
    ['of the future', sign({ timestamp: now + 302 })],
    ['another timestamp', { ...valid, 'x-timestamp': String(now - 8) }],
    ['another method', sign({ method: 'HEAD' })],
    ['another path', sign({ path: '/whoami?' })],
    ['another body', sign({ body: ' ' })],
    ['another secret', sign({ secret: `${SECRET}!` })],
    ['hex', { ...valid, 'x-signature': Buffer.from(valid['x-signature'], 'base64').toString('hex') }],
    ['empty', { ...valid, 'x-signature': '' }],
    ['wrong scheme', { authorization: 'Bearer abc' }],
  ];
  for (const [name, headers] of cases) {
    const { status, json, text, headers: fields } = await send('GET', '/whoami', { headers });
    t.equal(status, 401, name);
    t.equal(json.error.code, 'UNAUTHORIZED');
    t.equal(fields['www-authenticate'], 'HMAC-SHA256 realm="plinth", headers="X-Timestamp X-Signature"');
    t.notOk(text.includes(SECRET) || text.includes(valid['x-signature']));
  }
  const two = await send('GET', '/whoami', { headers: { ...valid, authorization: 'Bearer abc' } });
  t.equal(two.status, 400, 'two credentials');
  // The valid signature has not been used yet.
  t.equal((await send('GET', '/whoami', { headers: valid })).status, 200);
});

t.test('a signature is accepted once, by all processes together', async (t) => {
  const first = await testService(t, ENV);
  const second = await testService(t, { ...ENV, DATABASE_URL: first.databaseUrl });
  const headers = sign();
  const responses = await Promise.all(
    Array.from({ length: 12 }, (_, n) => (n % 2 ? first : second).send('GET', '/whoami', { headers })),
  );
  t.equal(responses.filter(({ status }) => status === 200).length, 1);
  t.equal(responses.filter(({ status }) => status === 401).length, 11);
});

t.test('clients of the documentation', async (t) => {
  const { url } = await testService(t, ENV);
  const clients: [command: string, file: string, probe: string[]][] = [
    ['sh', 'sign.sh', ['-c', 'command -v openssl && command -v curl']],
    [process.execPath, 'sign.mjs', ['--version']],
    ['python3', 'sign.py', ['--version']],
  ];
  const run = promisify(execFile);
  for (const [command, file, probe] of clients) {
    const there = await run(command, probe).then(
      () => true,
      () => false,
    );
    if (!there) {
      t.comment(`${file} cannot run: its command is not installed`);
      continue;
    }
    const path = fileURLToPath(new URL(`../../../../docs/clients/${file}`, import.meta.url));
    const env = { ...process.env, SIGNING_SECRET: SECRET };
    const body = `{"name": "from ${file}"}`;
    const created = await run(command, [path, 'POST', `${url}/items?_from=${file}`, body], { env });
    t.equal(JSON.parse(created.stdout).name, `from ${file}`);
    const caller = await run(command, [path, 'GET', `${url}/whoami?_from=${file}`], { env });
    t.equal(JSON.parse(caller.stdout).subject, 'billing');
  }
});
