import { createHmac } from 'node:crypto';
import { createAuthenticator } from '../../src/auth/authenticate.js';
import { CredentialRejected } from '../../src/auth/principal.js';
import type { AuthRequest, Scheme } from '../../src/auth/scheme.js';
import { connect } from '../../src/db/db.js';
import { Problem } from '../../src/errors/problem.js';
import { LoginThrottle } from '../../src/limits/login-throttle.js';
import { clientKey } from '../../src/limits/rate-limit.js';
import { openSharedCounts } from '../../src/limits/shared-counters.js';
import { createLog } from '../../src/telemetry/log.js';
import { outcomeOf } from '../support/issuer.js';
import { freshService, type ServiceResponse, send, testDatabase } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t from '../support/test.js';

/** A clock that stands still, from the moment of its making on: the database has no other. */
function testClock() {
  let at = Date.now();
  return {
    now: () => at,
    pass: (seconds: number) => {
      at += seconds * 1000;
    },
  };
}

/** The seconds that a 429 asks for; 0 when the work is done. */
async function waitOf(work: () => unknown): Promise<number> {
  try {
    await work();
    return 0;
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== 'RATE_LIMITED') throw error;
    return Number(error.more.headers![1]);
  }
}

const ADDRESS = '192.0.2.1';

const failOnce = async (limit: LoginThrottle, address = ADDRESS, account?: string): Promise<void> =>
  limit.begin(address).fail(account);

async function fail(times: number, limit: LoginThrottle, address = ADDRESS, account?: string) {
  for (let time = 0; time < times; time++) await failOnce(limit, address, account);
}

t.test('so many failures a minute pass, then each wait is twice the one before', async (t) => {
  const { now, pass } = testClock();
  const limit = new LoginThrottle(3, undefined, now);
  await fail(2, limit);
  t.equal(await waitOf(() => limit.begin(ADDRESS)), 0, 'below the limit no caller waits');
  await fail(1, limit);
  const waits = [];
  for (let round = 0; round < 12; round++) {
    const wait = await waitOf(() => limit.begin(ADDRESS));
    waits.push(wait);
    pass(wait - 0.001);
    t.equal(await waitOf(() => limit.begin(ADDRESS)), 1, 'to the end');
    pass(0.001);
    await fail(1, limit);
  }
  t.strictSame(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]);
});

t.test('failures are forgotten after a minute, and after a wait when the next would be over', async (t) => {
  const { now, pass } = testClock();
  const limit = new LoginThrottle(3, undefined, now);
  await fail(2, limit);
  pass(60);
  await fail(2, limit);
  t.equal(await waitOf(() => limit.begin(ADDRESS)), 0, 'a new minute');
  await fail(1, limit);
  for (const wait of [1, 2, 4, 8, 16, 32]) {
    pass(wait);
    await fail(1, limit);
  }
  t.equal(await waitOf(() => limit.begin(ADDRESS)), 64);
  pass(64 + 127);
  await fail(1, limit);
  t.equal(await waitOf(() => limit.begin(ADDRESS)), 128, 'not yet forgotten');
  pass(128 + 256);
  await fail(1, limit);
  t.equal(await waitOf(() => limit.begin(ADDRESS)), 0, 'forgotten');
});

t.test('addresses and accounts are counted apart', async (t) => {
  const { now } = testClock();
  const limit = new LoginThrottle(2, undefined, now);
  await failOnce(limit, '192.0.2.1', 'ann');
  await failOnce(limit, '192.0.2.2', 'ann');
  const attempt = limit.begin('192.0.2.3');
  // An account that is guessed from many addresses waits.
  t.equal(await waitOf(() => attempt.admit('ann')), 1);
  t.equal(await waitOf(() => attempt.admit('bob')), 0);
  await failOnce(limit, '192.0.2.4', '192.0.2.3');
  await failOnce(limit, '192.0.2.5', '192.0.2.3');
  t.equal(await waitOf(() => limit.begin('192.0.2.3')), 0, 'no account counts as an address');
  await failOnce(limit, '192.0.2.1', 'carl');
  t.equal(await waitOf(() => limit.begin('192.0.2.1')), 1, 'an address that guesses many accounts waits');
  const long = limit.begin('192.0.2.9');
  await failOnce(limit, '192.0.2.7', 'x'.repeat(10_000));
  await failOnce(limit, '192.0.2.8', 'x'.repeat(10_000));
  t.equal(await waitOf(() => long.admit('x'.repeat(10_000))), 1);
  t.equal(await waitOf(() => limit.begin('192.0.2.10').admit('x'.repeat(9_999))), 0);
});

t.test('an IPv6 client is its /64, and a stranger its /56, however its address is written', async (t) => {
  const rows: [kind: 'address' | 'site', one: string, other: string, isSame: boolean][] = [
    ['address', '2001:db8::1', '2001:db8:0:0:ffff:ffff:ffff:ffff', true],
    ['address', '2001:DB8:0:0::1', '2001:db8::2', true],
    ['address', '::1', '::', true],
    ['address', 'fe80::1%eth0', 'fe80::2', true],
    ['address', '1:2:3:4:5:6:7:8', '1:2:3:4::', true],
    ['address', '::ffff:192.0.2.1', '192.0.2.1', true],
    ['address', '::ffff:c000:201', '192.0.2.1', true],
    ['address', '64:ff9b::192.0.2.1', '64:ff9b::1', true],
    ['address', '1:2:3:4:5:6:192.0.2.1', '1:2:3:4::', true],
    ['address', '2001:db8:0:1::1', '2001:db8::1', false],
    ['address', '192.0.2.1', '192.0.2.2', false],
    ['address', '::ffff:192.0.2.1', '::ffff:192.0.2.2', false],
    ['address', '2001:db8:0:1200::1', '2001:db8:0:12ff::1', false],
    ['site', '2001:db8:0:1200::1', '2001:db8:0:12ff:1:2:3:4', true],
    ['site', '::ffff:192.0.2.1', '192.0.2.1', true],
    ['site', '2001:db8:0:1200::1', '2001:db8:0:1300::1', false],
    ['site', '192.0.2.1', '192.0.2.2', false],
  ];
  for (const [kind, one, other, isSame] of rows)
    t.equal(clientKey(kind, one) === clientKey(kind, other), isSame, `${kind}: ${one} and ${other}`);
  const { now } = testClock();
  const limit = new LoginThrottle(2, undefined, now);
  await failOnce(limit, '2001:db8::1');
  await failOnce(limit, '2001:db8::2');
  t.equal(await waitOf(() => limit.begin('2001:db8::3')), 1);
  t.equal(await waitOf(() => limit.begin('2001:db8:0:1::3')), 0);
});

/** A scheme whose checks all end when the test says so; only the credential `valid` is valid. */
function gatedScheme() {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  let checks = 0;
  const scheme: Scheme = {
    name: 'basic',
    challenge: () => 'Basic realm="test"',
    authenticate: (presented, admission) => {
      const { authorization } = presented.headers;
      if (authorization === undefined) return undefined;
      return (async () => {
        admission.admit('ann');
        checks++;
        await opened;
        if (authorization !== 'valid') throw new CredentialRejected('basic', 'No.', 'ann');
        return { subject: 'ann', scopes: new Set<string>(), scheme: 'basic', expiresAt: undefined };
      })();
    },
  };
  return { scheme, open, checks: () => checks };
}

const sent = (address: string, authorization?: string): AuthRequest => ({
  method: 'GET',
  target: '/',
  headers: authorization === undefined ? {} : { authorization },
  address,
  secure: true,
  loopback: false,
  certificate: undefined,
  body: async () => Buffer.alloc(0),
});

const statusOf = async (work: () => Promise<unknown>): Promise<number> => {
  const outcome = await outcomeOf((async () => work())());
  return outcome === 'valid' ? 200 : Number(outcome);
};

t.test('of many guesses at once as many are verified as of one after the other', async (t) => {
  const { now, pass } = testClock();
  const { scheme, open, checks } = gatedScheme();
  const authenticate = createAuthenticator([scheme], new LoginThrottle(5, undefined, now));
  const guesses = Array.from({ length: 100 }, (_, at) =>
    statusOf(() => authenticate(sent(`192.0.2.${at}`, at === 50 ? 'valid' : 'bad'))),
  );
  open();
  const statuses = await Promise.all(guesses);
  t.equal(statuses.filter((status) => status === 401).length, 5);
  t.equal(statuses.filter((status) => status === 429).length, 95, 'the valid one among them');
  const before = checks();
  t.equal(await statusOf(() => authenticate(sent('192.0.2.200', 'valid'))), 429);
  t.equal(checks(), before, 'the account waits before its credential is checked');
  pass(1);
  t.equal(await statusOf(() => authenticate(sent('192.0.2.200', 'valid'))), 200);
});

t.test('an address that must wait does so with a credential that is known at once, too', async (t) => {
  const { now, pass } = testClock();
  const scheme: Scheme = {
    name: 'bearer',
    challenge: () => 'Bearer realm="test"',
    authenticate: async ({ headers }) => {
      if (headers.authorization !== 'valid') throw new CredentialRejected('bearer', 'No.');
      return { subject: 'ann', scopes: new Set<string>(), scheme: 'bearer', expiresAt: undefined };
    },
  };
  const authenticate = createAuthenticator([scheme], new LoginThrottle(2, undefined, now));
  const of = (address: string, text: string) => statusOf(() => authenticate(sent(address, text)));
  t.equal(await of(ADDRESS, 'valid'), 200);
  t.equal(await of(ADDRESS, 'bad'), 401);
  t.equal(await of(ADDRESS, 'valid'), 200);
  t.equal(await of(ADDRESS, 'bad'), 401);
  t.equal(await of(ADDRESS, 'valid'), 429);
  t.equal(await of('192.0.2.2', 'valid'), 200);
  pass(1);
  t.equal(await of(ADDRESS, 'valid'), 200);
});

const SECRET = 's'.repeat(32);
const SIGNED = {
  AUTH: 'signature',
  SIGNING_SECRETS: JSON.stringify([{ id: 'k', secret: SECRET, subject: 'svc', scopes: ['items:read'] }]),
};

/** Seconds since 1970; one moment for all, so that no second that passes makes two signatures the same. */
const STARTED = Math.floor(Date.now() / 1000);

/** The fields of a signed `GET /items`; each nonce makes another signature. */
function signed(secret: string, nonce: number) {
  const timestamp = String(STARTED - nonce);
  const signature = createHmac('sha256', secret).update(`${timestamp}\nGET\n/items\n`).digest('base64');
  return { 'x-timestamp': timestamp, 'x-signature': signature };
}

/** Guesses until the response is 429, as no clock's luck can prevent since each wait is twice the last. */
async function guess(url: string, headers: Record<string, string> = {}): Promise<ServiceResponse[]> {
  const responses: ServiceResponse[] = [];
  do {
    const fields = { ...signed('wrong', responses.length), ...headers };
    responses.push(await send(url, 'GET', '/items', { headers: fields }));
  } while (responses.at(-1)!.status === 401 && responses.length < 40);
  return responses;
}

t.test('ten bad signatures are 401, then 429 with Retry-After', async (t) => {
  const { url } = await freshService(t, SIGNED);
  for (let time = 0; time < 20; time++) t.equal((await send(url, 'GET', '/items')).status, 401);
  t.equal((await send(url, 'GET', '/items', { headers: signed(SECRET, 0) })).status, 200);
  const responses = await guess(url);
  t.ok(responses.length > 10, `${responses.length - 1} were 401`);
  const last = responses.at(-1)!;
  t.match(last, { status: 429, json: { error: { code: 'RATE_LIMITED' } } });
  t.match(last.headers['retry-after'], /^[1-9]\d*$/);
  t.equal(last.headers['www-authenticate'], undefined);
});

t.test('a client behind a trusted proxy is counted by its own address', async (t) => {
  const { url } = await freshService(t, { ...SIGNED, AUTH_FAILURES: '2', TRUST_PROXY: '127.0.0.1' });
  t.equal((await guess(url, { 'x-forwarded-for': '2001:db8::1' })).at(-1)!.status, 429);
  const other = { ...signed(SECRET, 1), 'x-forwarded-for': '2001:db8:1::1' };
  t.equal((await send(url, 'GET', '/items', { headers: other })).status, 200);
});

t.test('AUTH_FAILURES=0 counts nothing', async (t) => {
  const { url } = await freshService(t, { ...SIGNED, AUTH_FAILURES: '0' });
  const responses = await guess(url);
  t.equal(responses.length, 40);
  t.ok(responses.every(({ status }) => status === 401));
});

t.test('with the postgres store a process hears of all failures with one of its own', async (t) => {
  const databaseUrl = await testDatabase(t);
  const connections = { dbConnections: 1, dbSearches: 1, dbStreams: 1, queue: 100, dbTimeoutMs: 5000 };
  const db = connect(databaseUrl, { ...connections, tombstones: false, events: false });
  t.teardown(() => db.close());
  const sql = sqlOf(t, databaseUrl);
  const { now, pass } = testClock();
  const open = () => new LoginThrottle(3, openSharedCounts(db, createLog('silent'))('failures', 60), now);
  const [one, two, three] = [open(), open(), open()];
  await fail(2, one, ADDRESS, 'ann');
  await fail(1, two, ADDRESS, 'ann');
  t.equal(await waitOf(() => two.begin(ADDRESS)), 1, 'the third failure of all');
  t.equal(await waitOf(() => one.begin(ADDRESS)), 0, 'has not heard of it');
  await fail(1, one, ADDRESS, 'ann');
  t.equal(await waitOf(() => one.begin(ADDRESS)), 2, 'waits for as long as all failures ask');
  await fail(1, three, ADDRESS, 'ann');
  t.equal(await waitOf(() => three.begin('192.0.2.9').admit('ann')), 4, 'also the account');
  pass(4);
  const before = Date.now();
  for (const count of [6, 7, 8]) {
    await fail(1, three, ADDRESS, 'ann');
    pass(2 ** (count - 3));
  }
  const rows = await sql`select key, points, expire::double precision from limits`;
  t.equal(rows.length, 2);
  for (const { points, expire } of rows) {
    t.equal(points, 8);
    t.ok(expire > before + 70_000, 'remembered beyond the minute, as long as here');
  }
  const keys = rows.map(({ key }) => key as string);
  t.notMatch(keys.join(), /ann|192\.0/, 'no name is stored');
});

t.test('two services count failures together', async (t) => {
  const databaseUrl = await testDatabase(t);
  const env = { ...SIGNED, DATABASE_URL: databaseUrl, RATE_LIMIT_STORE: 'postgres', AUTH_FAILURES: '5' };
  const [one, two] = [await freshService(t, env), await freshService(t, env)];
  t.ok((await guess(one.url)).length > 5);
  const responses = await guess(two.url);
  t.equal(responses.at(-1)!.status, 429);
  t.ok(responses.length <= 5, `${responses.length - 1} passed, not five`);
});
