import { testService } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { words } from '../support/words.js';

const SECRETS = JSON.stringify([{ id: 'a', secret: 's'.repeat(32), subject: 's', scopes: ['items:read'] }]);

/** Sends bad signatures until one is 429; `wrong` gives the proxy's fields of the n-th. */
async function isLimited(t: Test, family: string, fields: (n: number) => Record<string, string>) {
  const { send } = await testService(t, {
    AUTH: 'signature',
    SIGNING_SECRETS: SECRETS,
    AUTH_FAILURES: '3',
    TRUST_PROXY: '127.0.0.1',
    PROXY_HEADERS: family,
  });
  const statuses: number[] = [];
  for (let n = 0; n < 8; n++) {
    const headers = {
      'x-timestamp': String(Math.floor(Date.now() / 1000)),
      'x-signature': 'AAAA',
      ...fields(n),
    };
    statuses.push((await send('GET', '/items', { headers })).status);
  }
  return statuses.includes(429);
}

t.test('the family that the proxy does not write is ignored', async (t) => {
  const xff = await isLimited(t, '', (n) => ({
    'x-forwarded-for': '192.0.2.1',
    forwarded: `for=198.51.100.${n}`,
  }));
  t.ok(xff, 'a made-up Forwarded does not change the address');
  const forwarded = await isLimited(t, 'forwarded', (n) => ({
    forwarded: 'for=192.0.2.1',
    'x-forwarded-for': `198.51.100.${n}`,
  }));
  t.ok(forwarded, 'a made-up X-Forwarded-For does not change the address');
  const both = await isLimited(t, 'forwarded', (n) => ({ forwarded: `for=198.51.100.${n}` }));
  t.notOk(both, 'each client that the proxy names has its own count');
});

t.test('an unknown or hidden client is the peer, whatever was sent before it', async (t) => {
  for (const hidden of ['unknown', '_hidden', '"_hidden:80"', 'nonsense', '""'])
    t.ok(
      await isLimited(t, 'forwarded', (n) => ({ forwarded: `for=198.51.100.${n}, for=${hidden}` })),
      hidden,
    );
  const long = 'for=192.0.2.9, '.repeat(100);
  t.ok(
    await isLimited(t, 'forwarded', (n) => ({ forwarded: `for=198.51.100.${n}, ${long}for=unknown` })),
    'more proxies than the service reads',
  );
  t.ok(await isLimited(t, 'x-forwarded', (n) => ({ 'x-forwarded-for': `198.51.100.${n}, unknown` })));
  t.ok(await isLimited(t, 'forwarded', (n) => ({ forwarded: `for="198.51.100.${n}` })), 'malformed');
});

t.test('the nearest proxy says whether there was TLS', async (t) => {
  const env = { AUTH: 'basic', TRUST_PROXY: '127.0.0.1', AUTH_FAILURES: '0' };
  const credential = { authorization: `Basic ${Buffer.from('a@example.org:wrong').toString('base64')}` };
  const forwarded = await testService(t, { ...env, PROXY_HEADERS: 'forwarded' });
  const legacy = await testService(t, env);
  const message = async ({ send }: typeof legacy, fields: Record<string, string>): Promise<string> =>
    (await send('GET', '/items', { headers: { ...credential, ...fields } })).json.error.message;
  const noTls = await message(legacy, {});
  for (const field of [
    ...words(`
    proto=http;host="x;proto=https" host="x;proto=https" proto=https;x=" proto=https;proto=http
    proto=http;proto=https proto="https"x =https proto
  `),
    'host="x, proto=https"',
    'host="x\\";proto=https;a=\\""',
    'proto=https, proto=http',
    'proto=https;x=", for=192.0.2.1;proto=http',
    'proto=https;x=", for="[2001:db8::1]";proto=http',
    'proto=https;a=b\\',
    'proto =https',
    'proto=https x',
  ])
    t.equal(await message(forwarded, { forwarded: field }), noTls, field);
  for (const field of [
    'proto=https',
    'for=192.0.2.1; Proto="HTTPS"',
    'for="[2001:db8::1]:4711";by=_x;host="a\\"b;c,d";proto=https',
    'proto=http, ,for=192.0.2.1;proto="ht\\tps",',
    ';proto=https;',
    'for=[2001:db8::1]:80;proto=https',
  ])
    t.not(await message(forwarded, { forwarded: field }), noTls, field);
  t.equal(await message(forwarded, { 'x-forwarded-proto': 'https' }), noTls);
  t.equal(await message(legacy, { forwarded: 'proto=https' }), noTls);
  t.equal(await message(legacy, { forwarded: 'proto=https', 'x-forwarded-proto': 'http' }), noTls);
  t.not(await message(legacy, { forwarded: 'proto=http', 'x-forwarded-proto': 'https' }), noTls);
});
