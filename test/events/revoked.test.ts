import type http from 'node:http';
import { text } from 'node:stream/consumers';
import { CredentialWatch } from '../../src/auth/credentials/credential-watch.js';
import type { AuthRequest } from '../../src/auth/scheme.js';
import { Bearer } from '../../src/auth/schemes/bearer.js';
import { readConfig } from '../../src/config/config.js';
import { createLog } from '../../src/telemetry/log.js';
import { byPassword, makeKey } from '../support/credentials.js';
import { AUDIENCE, claims, json, sign, signingKey, testIssuer } from '../support/issuer.js';
import { SIGN_IN } from '../support/names.js';
import { mockClock } from '../support/pause.js';
import { testProxy } from '../support/proxy.js';
import { type TestService, testDatabase, testService } from '../support/service.js';
import t, { type Test } from '../support/test.js';
import { until, untilAtLeast, untilLength } from '../support/until.js';
import { type Followed, follow } from './follow.js';

const EVENTS = '/events?after=now';
const PASSWORD = 'a long enough password 1';

const CHECK_MS = 50;

/** Heartbeats, which would find some of it out by themselves, are far apart. */
const QUIET = { eventsHeartbeatMs: 600_000, eventsCredentialMs: CHECK_MS };
const ENV = { AUTH: 'api-key, basic', INSECURE: 'basic' };

t.test('two checks fit into the two seconds that docs/events.md and docs/accounts.md name', async (t) => {
  t.ok(2 * readConfig({}).eventsCredentialMs <= 2000);
});

/** A stream of another credential, to see that only those concerned end. */
async function setup(t: Test, env: Record<string, string> = {}, limits = {}) {
  const service = await testService(t, { ...ENV, ...env }, { ...QUIET, ...limits });
  const admin = { 'x-api-key': (await makeKey(service.db)).key };
  const stream = (headers: http.OutgoingHttpHeaders, from: TestService = service) =>
    follow(t, from.url + EVENTS, headers);
  const user = async (email: string) => {
    const body = { email, name: 'Ada', password: PASSWORD };
    return (await service.send('POST', '/users', { body, headers: admin })).json.id as string;
  };
  const other = await stream(admin);
  return { service, admin, stream, user, other };
}

/** A stream ends, long before its next heartbeat; the other one goes on. */
async function ends(t: Test, { isOver }: Followed, other: Followed): Promise<void> {
  await until('it is over', isOver);
  t.notOk(other.isOver(), 'others go on');
}

t.test('a revoked key ends its streams in every process', async (t) => {
  const { service, admin, stream, other } = await setup(t);
  const second = await testService(t, { ...ENV, DATABASE_URL: service.databaseUrl }, QUIET);
  const { id, key } = await makeKey(service.db);
  const open = await Promise.all([stream({ 'x-api-key': key }), stream({ 'x-api-key': key }, second)]);
  for (const { status } of open) t.equal(status, 200);
  t.equal((await service.send('DELETE', `/keys/${id}`, { headers: admin })).status, 204);
  for (const each of open) await ends(t, each, other);
});

t.test('a change by SQL ends them too: fewer scopes, an earlier expiry', async (t) => {
  const { service, stream, other } = await setup(t);
  for (const change of ["scopes = '{items:read}'", "subject = 'else'", 'expires_at = now()']) {
    const { id, key } = await makeKey(service.db);
    const open = await stream({ 'x-api-key': key });
    await service.db.run(`update credentials set ${change} where id = $1`, [id]);
    await ends(t, open, other);
  }
});

t.test('revocation is found when notifications are lost', async (t) => {
  const databaseUrl = await testDatabase(t);
  const proxy = await testProxy(t, databaseUrl);
  const { service, stream, other } = await setup(t, { DATABASE_URL: proxy.url });
  const { id, key } = await makeKey(service.db);
  const open = await stream({ 'x-api-key': key });
  const first = await testService(t, { AUTH: 'none', DATABASE_URL: databaseUrl });
  await first.db.transaction(async (run) => {
    await run("set local session_replication_role = 'replica'", []);
    await run('delete from credentials where id = $1', [id]);
  });
  await ends(t, open, other);
});

t.test('a key that expires ends its streams, whatever the heartbeat', async (t) => {
  const { service, stream, other } = await setup(t);
  const { id, key } = await makeKey(service.db);
  await service.db.run("update credentials set expires_at = now() + interval '1 hour' where id = $1", [id]);
  const open = await stream({ 'x-api-key': key });
  t.equal(open.status, 200);
  mockClock(t).ms += 3_601_000;
  await ends(t, open, other);
});

for (const scheme of ['basic', 'api-key'])
  t.test(`a deleted user: ${scheme}`, scheme === 'basic' ? SIGN_IN : {}, async (t) => {
    const { service, admin, stream, user, other } = await setup(t);
    const id = await user('ada@example.org');
    const self = await makeKey(service.db, { subject: id, scopes: ['self'] });
    const each = await stream(
      scheme === 'basic' ? byPassword('ada@example.org', PASSWORD) : { 'x-api-key': self.key },
    );
    await service.send('DELETE', `/users/${id}`, { headers: admin });
    await ends(t, each, other);
    t.equal(each.messages.at(-1)?.event, 'users.deleted', 'with the event of the deletion');
  });

t.test('`self` of a subject that never was a user stays', async (t) => {
  const { service, stream } = await setup(t);
  const subject = '01900000-0000-7000-8000-000000000000';
  const self = await makeKey(service.db, { subject, scopes: ['self'] });
  const open = await stream({ 'x-api-key': self.key });
  const revoked = await makeKey(service.db);
  const ending = await stream({ 'x-api-key': revoked.key });
  await service.db.run('delete from credentials where id = $1', [revoked.id]);
  await until('a check has taken place', ending.isOver);
  t.notOk(open.isOver());
});

t.test('a changed password', SIGN_IN, async (t) => {
  const { service, admin, stream, user, other } = await setup(t);
  const id = await user('ada@example.org');
  const open = await stream(byPassword('ada@example.org', PASSWORD));
  t.equal(open.status, 200);
  const body = { password: 'another long password 2' };
  await service.send('PATCH', `/users/${id}`, { body, headers: admin });
  await ends(t, open, other);
});

t.test('a request that waits ends, and has nothing that came after the revocation', async (t) => {
  const { service, admin } = await setup(t);
  const { id, key } = await makeKey(service.db);
  const headers = { 'x-api-key': key, prefer: 'wait=60' };
  const waiting = service.send('GET', EVENTS, { headers });
  await until('it waits', () => service.feed!.streams.metrics.readers.value, 2);
  await service.send('DELETE', `/keys/${id}`, { headers: admin });
  const { status, json } = await waiting;
  t.equal(status, 200);
  t.same(json.data, []);
  await until('its place is free', () => service.feed!.streams.metrics.readers.value, 1);
});

t.test('bearer tokens: `exp`', async (t) => {
  const key = await signingKey('es');
  const issuer = await testIssuer(t, key);
  const env = { AUTH: 'bearer, api-key', ISSUER: issuer.url, AUDIENCE };
  const { stream, other } = await setup(t, env);
  const exp = Math.floor(Date.now() / 1000) + 600;
  const token = await sign(key, claims(issuer.url, { exp, scope: 'admin' }));
  const open = await stream({ authorization: `Bearer ${token}` });
  t.equal(open.status, 200);
  mockClock(t).ms += 660_000;
  await ends(t, open, other);
});

t.test('introspected tokens: introspected again when the remembered response is too old', async (t) => {
  const issuer = await testIssuer(t);
  const responses: Record<string, object> = {};
  const response = { active: true, sub: 'ada', scope: 'items:read admin' };
  for (const token of ['revoked', 'narrowed', 'same']) responses[token] = response;
  let away = false;
  issuer.paths.set('/introspect', async (req, res) => {
    const token = new URLSearchParams(await text(req)).get('token')!;
    json(away ? {} : responses[token]!, away ? 503 : 200)(req, res);
  });
  const service = await testService(t, ENV, QUIET);
  const clock = mockClock(t);
  const config = readConfig({ AUTH: 'bearer', INTROSPECTION: `${issuer.url}/introspect` });
  const scheme = new Bearer(config, () => Promise.resolve('first'), createLog('silent'));
  const watch = new CredentialWatch(service.db, createLog('silent'), [scheme], CHECK_MS);
  t.teardown(() => watch.close());
  const ended: string[] = [];
  for (const token of Object.keys(responses)) {
    const presented = { headers: { authorization: `Bearer ${token}` } } as AuthRequest;
    const principal = await scheme.authenticate(presented);
    await watch.watch(principal!, () => ended.push(token));
  }
  away = true;
  clock.ms += 31_000;
  await untilAtLeast('it has been away', () => issuer.requests.length, 6);
  t.same(ended, [], 'nothing is known while the authorization server is away');
  away = false;
  responses.revoked = { active: false };
  responses.narrowed = { ...response, scope: 'items:read' };
  await untilLength('both have ended', () => ended, 2);
  t.same(new Set(ended), new Set(['revoked', 'narrowed']));
});

t.test('a principal has a limit of its own', async (t) => {
  const limits = { eventsStreamsPerPrincipal: 2 };
  const { service, admin, stream } = await setup(t, {}, limits);
  const second = await makeKey(service.db);
  t.equal((await stream({ 'x-api-key': second.key })).status, 200, 'the second of the same subject');
  const headers = { ...admin, accept: 'text/event-stream' };
  const surplus = await service.send('GET', EVENTS, { headers });
  t.equal(surplus.status, 429);
  t.match(surplus.json.error, { code: 'TOO_MANY_STREAMS', details: { limit: 2 } });
  t.ok(Number(surplus.headers['retry-after']) > 0);
  const waits = await service.send('GET', EVENTS, { headers: { ...admin, prefer: 'wait=1' } });
  t.equal(waits.status, 429, 'waiting requests are included');
  t.equal((await service.send('GET', EVENTS, { headers: admin })).status, 200, 'reading is not');
  const another = await makeKey(service.db, { subject: 'another' });
  const open = await stream({ 'x-api-key': another.key });
  t.equal(open.status, 200, 'other principals have their own');
  open.leave();
  const nobody = await testService(t, { AUTH: 'none', DATABASE_URL: service.databaseUrl }, limits);
  for (let count = 0; count < 3; count++) t.equal((await stream({}, nobody)).status, 200, 'without AUTH');
});
