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
  const headers = {
    'webhook-id': 'msg_2',
    'webhook-timestamp': String(time),
    'webhook-signature': signature,
  };
  t.same(verifyWebhook(BODY, headers, secret), { id: 'msg_2', timestamp: time });
  t.same(verifyWebhook(Buffer.from(BODY), new Headers(headers), [newSecret(), secret]), {
    id: 'msg_2',
    timestamp: time,
  });
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

type Case = [
  name: string,
  code: string,
  body: string,
  headers: object,
  secret: string | string[],
  options?: VerifyOptions,
];

t.test('all else is refused with a code that stays', async (t) => {
  const secret = newSecret();
  const valid = signed([secret]);
  const standard = only(valid, /^webhook/);
  const time = now();
  const cases: Case[] = [
    ['as it is', 'valid', BODY, valid, secret],
    ['one of several secrets', 'valid', BODY, valid, [newSecret(), secret]],
    ['without the prefix', 'valid', BODY, valid, secret.slice(6)],
    [
      'names in any case',
      'valid',
      BODY,
      Object.fromEntries(Object.entries(standard).map(([n, v]) => [n.toUpperCase(), v])),
      secret,
    ],
    [
      'another version beside it',
      'valid',
      BODY,
      { ...standard, 'webhook-signature': `v1a,abc ${standard['webhook-signature']}` },
      secret,
    ],
    ['another secret', 'BAD_SIGNATURE', BODY, valid, newSecret()],
    ['another body', 'BAD_SIGNATURE', `${BODY} `, valid, secret],
    ['an empty body', 'BAD_SIGNATURE', '', valid, secret],
    ['another id', 'BAD_SIGNATURE', BODY, { ...valid, 'webhook-id': 'msg_2' }, secret],
    ['another time', 'BAD_SIGNATURE', BODY, { ...valid, 'webhook-timestamp': String(time - 1) }, secret],
    [
      'another version',
      'BAD_SIGNATURE',
      BODY,
      { ...valid, 'webhook-signature': standard['webhook-signature']!.replace('v1', 'v2') },
      secret,
    ],
    [
      'cut',
      'BAD_SIGNATURE',
      BODY,
      { ...valid, 'webhook-signature': standard['webhook-signature']!.slice(0, -5) },
      secret,
    ],
    [
      'doubled by the server',
      'BAD_SIGNATURE',
      BODY,
      { ...valid, 'webhook-signature': ['v1,a', 'v1,b'] },
      secret,
    ],
    [
      'a bad one is not saved by the other form',
      'BAD_SIGNATURE',
      BODY,
      { ...valid, 'webhook-signature': 'v1,AAAA' },
      secret,
      { path: '/hook?x=1' },
    ],
    ['nothing', 'MISSING_HEADERS', BODY, {}, secret],
    [
      'webhook-* removed on the way',
      'MISSING_HEADERS',
      BODY,
      only(valid, /^X-/),
      secret,
      { path: '/hook?x=1' },
    ],
    [
      'X-Signature removed on the way',
      'MISSING_HEADERS',
      BODY,
      standard,
      secret,
      { path: '/hook?x=1', scheme: 'x-signature' },
    ],
    ['no scheme', 'BAD_OPTION', BODY, valid, secret, { scheme: 'any' as 'x-signature' }],
    ...[Number.NaN, Number.POSITIVE_INFINITY, -1, '300' as unknown as number].map(
      (toleranceSeconds): Case => [
        `a tolerance of ${toleranceSeconds}`,
        'BAD_OPTION',
        BODY,
        signed([secret], time - 1_000_000),
        secret,
        { toleranceSeconds },
      ],
    ),
    ['a time that is none', 'BAD_OPTION', BODY, valid, secret, { now: Number.NaN }],
    ['no id', 'MISSING_HEADERS', BODY, { ...valid, 'webhook-id': undefined }, secret],
    ['no time', 'MISSING_HEADERS', BODY, { ...valid, 'webhook-timestamp': '' }, secret],
    ['no number', 'BAD_TIMESTAMP', BODY, { ...valid, 'webhook-timestamp': '1e9' }, secret],
    ['old', 'TIMESTAMP_TOO_OLD', BODY, signed([secret], time - 302), secret],
    ['just not old', 'valid', BODY, signed([secret], time - 297), secret],
    ['ahead', 'TIMESTAMP_TOO_NEW', BODY, signed([secret], time + 302), secret],
    ['ahead, and let be', 'valid', BODY, signed([secret], time + 302), secret, { toleranceSeconds: 400 }],
    ['no secret', 'BAD_SECRET', BODY, valid, []],
    ['an empty secret', 'BAD_SECRET', BODY, valid, ''],
    ['a secret that is none', 'BAD_SECRET', BODY, valid, 'whsec_short'],
  ];
  for (const [name, code, body, headers, with_, options] of cases)
    t.equal(codeOf(body, headers, with_, options), code, name);
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
