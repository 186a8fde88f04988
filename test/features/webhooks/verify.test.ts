import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { keyOf, newSecret, signWebhook } from '../../../src/features/webhooks/sign.js';
import { type VerifyOptions, verifyWebhook } from '../../../src/features/webhooks/verify.js';
import t from '../../support/test.js';

const BODY = '{"type":"users.created","data":{"name":"Ünal 🙂"}}';
const now = () => Math.floor(Date.now() / 1000);
const signed = (secrets: readonly string[], timestamp = now(), body = BODY) =>
  signWebhook({ id: 'msg_1', timestamp, target: '/hook?x=1', body }, secrets);

function codeOf(body: string, headers: object, secret: string | string[], options?: VerifyOptions) {
  try {
    verifyWebhook(body, headers as never, secret, options);
    return 'valid';
  } catch (error) {
    return (error as { code: string }).code;
  }
}

const only = (headers: Record<string, string>, pattern: RegExp) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => pattern.test(name)));

t.test('the example of the Standard Webhooks specification', async (t) => {
  // From the specification's own libraries.
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  const body = '{"test": 2432232314}';
  const headers = {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  };
  t.same(verifyWebhook(body, headers, secret, { now: 1_614_265_330_000 }), {
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    timestamp: 1_614_265_330,
  });
});

t.test('a secret is whsec_ and 32 random bytes', async (t) => {
  const secrets = Array.from({ length: 100 }, newSecret);
  t.equal(new Set(secrets).size, 100);
  for (const secret of secrets) {
    t.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    t.equal(keyOf(secret)!.length, 32);
  }
});

t.test('what we sign, the package standardwebhooks verifies, with any secret of a rotation', async (t) => {
  const [current, previous] = [newSecret(), newSecret()];
  const headers = signed([current, previous]);
  for (const secret of [current, previous])
    t.same(new Webhook(secret).verify(BODY, headers), JSON.parse(BODY));
  t.throws(() => new Webhook(newSecret()).verify(BODY, headers));
});

t.test('what the package signs, we verify', async (t) => {
  const secret = newSecret();
  const time = now();
  const signature = new Webhook(secret).sign('msg_2', new Date(time * 1000), BODY);
  const own = { 'webhook-id': 'msg_2', 'webhook-timestamp': String(time) };
  const headers = { ...own, 'webhook-signature': signature };
  const message = { id: 'msg_2', timestamp: time };
  t.same(verifyWebhook(BODY, headers, secret), message);
  t.same(verifyWebhook(Buffer.from(BODY), new Headers(headers), [newSecret(), secret]), message);
});

t.test('X-Signature has the form of a signed request, with the secret as the text it is', async (t) => {
  const secret = newSecret();
  const headers = signed([secret]);
  const time = headers['X-Timestamp'];
  const wanted = createHmac('sha256', secret).update(`${time}\nPOST\n/hook?x=1\n${BODY}`).digest('base64');
  t.equal(headers['X-Signature'], wanted);
  const fields = only(headers, /^X-/);
  t.same(verifyWebhook(BODY, fields, secret, { path: '/hook?x=1', scheme: 'x-signature' }), {
    id: undefined,
    timestamp: Number(time),
  });
  t.equal(codeOf(BODY, fields, secret, { scheme: 'x-signature' }), 'MISSING_PATH');
  t.equal(codeOf(BODY, fields, secret, { path: '/hook', scheme: 'x-signature' }), 'BAD_SIGNATURE');
});

const inCapitals = (headers: Record<string, string>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));

interface Given {
  readonly body?: string;
  /** Fields that replace those of a valid message. */
  readonly change?: object;
  /** The fields, in place of those of a valid message. */
  readonly headers?: object;
  readonly secret?: string | string[];
  readonly options?: VerifyOptions;
}

t.test('all else is refused with a code that stays', async (t) => {
  const secret = newSecret();
  const valid = signed([secret]);
  const standard = only(valid, /^webhook/);
  const signature = standard['webhook-signature']!;
  const time = now();
  const at = (seconds: number) => signed([secret], time + seconds);
  const signs = (text: unknown) => ({ change: { 'webhook-signature': text } });
  const path = '/hook?x=1';
  const cases: [name: string, code: string, given: Given][] = [
    ['as it is', 'valid', {}],
    ['one of several secrets', 'valid', { secret: [newSecret(), secret] }],
    ['without the prefix', 'valid', { secret: secret.slice(6) }],
    ['names in any case', 'valid', { headers: inCapitals(standard) }],
    ['another version beside it', 'valid', signs(`v1a,abc ${signature}`)],
    ['another secret', 'BAD_SIGNATURE', { secret: newSecret() }],
    ['another body', 'BAD_SIGNATURE', { body: `${BODY} ` }],
    ['an empty body', 'BAD_SIGNATURE', { body: '' }],
    ['another id', 'BAD_SIGNATURE', { change: { 'webhook-id': 'msg_2' } }],
    ['another time', 'BAD_SIGNATURE', { change: { 'webhook-timestamp': String(time - 1) } }],
    ['another version', 'BAD_SIGNATURE', signs(signature.replace('v1', 'v2'))],
    ['cut', 'BAD_SIGNATURE', signs(signature.slice(0, -5))],
    ['doubled by the server', 'BAD_SIGNATURE', signs(['v1,a', 'v1,b'])],
    ['a bad one beside the other form', 'BAD_SIGNATURE', { ...signs('v1,AAAA'), options: { path } }],
    ['nothing', 'MISSING_HEADERS', { headers: {} }],
    ['webhook-* removed on the way', 'MISSING_HEADERS', { headers: only(valid, /^X-/), options: { path } }],
    [
      'X-Signature removed',
      'MISSING_HEADERS',
      { headers: standard, options: { path, scheme: 'x-signature' } },
    ],
    ['no scheme', 'BAD_OPTION', { options: { scheme: 'any' as 'x-signature' } }],
    ...[Number.NaN, Number.POSITIVE_INFINITY, -1, '300' as unknown as number].map(
      (toleranceSeconds): [string, string, Given] => [
        `a tolerance of ${toleranceSeconds}`,
        'BAD_OPTION',
        { headers: at(-1_000_000), options: { toleranceSeconds } },
      ],
    ),
    ['a time that is none', 'BAD_OPTION', { options: { now: Number.NaN } }],
    ['no id', 'MISSING_HEADERS', { change: { 'webhook-id': undefined } }],
    ['no time', 'MISSING_HEADERS', { change: { 'webhook-timestamp': '' } }],
    ['no number', 'BAD_TIMESTAMP', { change: { 'webhook-timestamp': '1e9' } }],
    ['old', 'TIMESTAMP_TOO_OLD', { headers: at(-302) }],
    ['just not old', 'valid', { headers: at(-297) }],
    ['ahead', 'TIMESTAMP_TOO_NEW', { headers: at(302) }],
    ['ahead, and let be', 'valid', { headers: at(302), options: { toleranceSeconds: 400 } }],
    ['no secret', 'BAD_SECRET', { secret: [] }],
    ['an empty secret', 'BAD_SECRET', { secret: '' }],
    ['a secret that is none', 'BAD_SECRET', { secret: 'whsec_short' }],
  ];
  for (const [name, code, given] of cases) {
    const headers = given.headers ?? { ...valid, ...given.change };
    t.equal(codeOf(given.body ?? BODY, headers, given.secret ?? secret, given.options), code, name);
  }
});

t.test('an error has nothing of secret, signature or body', async (t) => {
  const secret = newSecret();
  try {
    verifyWebhook(BODY, { ...signed([newSecret()]) }, secret);
    t.fail('it is refused');
  } catch (error) {
    const text = JSON.stringify(error) + String(error);
    t.notOk(text.includes(secret) || text.includes('Ünal') || text.includes('v1,'));
  }
});
