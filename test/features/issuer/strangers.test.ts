import * as client from 'openid-client';
import { prune } from '../../../src/db/maintenance.js';
import { ISSUER_PRUNES } from '../../../src/features/issuer/issuer-statements.js';
import { MAX_STRANGERS } from '../../../src/features/issuer/strangers.js';
import { RETENTION } from '../../support/service.js';
import t from '../../support/test.js';
import { words } from '../../support/words.js';
import {
  type AuthorizationServer,
  application,
  authorizationServer,
  begin,
  consent,
  DEVICE,
  signIn,
} from './authorization-server.js';
import { Visitor } from './visitor.js';

t.jobs = 2;

/** The stored records without a user, with the seconds for which each is valid. */
const stored = ({ service: { db } }: AuthorizationServer) =>
  db.run(
    `select model, extract(epoch from expires_at - now())::float8 as seconds, length(payload) as bytes
    from issuer_records where user_id is null`,
    [],
  );

t.test('what strangers store is short-lived and small; sessions of users live long', async (t) => {
  const { server, id, config } = await application(t);
  const { id: device } = await server.register(DEVICE);
  const flow = await begin(server, config);
  for (const path of ['/device', '/sign-out', '/device?user_code=AAAA-AAAA', String(flow.url)])
    await new Visitor(server.issuer).open(path);
  const pushed = { ...Object.fromEntries(flow.url.searchParams), client_id: id };
  t.equal((await server.post('/par', pushed)).status, 201);
  t.equal((await server.post('/device_authorization', { client_id: device, scope: 'self' })).status, 200);
  const rows = await stored(server);
  const models = words('DeviceCode Interaction PushedAuthorizationRequest Session');
  t.same([...new Set(rows.map(({ model }) => model))].sort(), models);
  for (const { model, seconds } of rows) t.ok(Number(seconds) <= 15 * 60, `${model}: ${seconds} s`);

  for (const [path, fields] of [
    ['/par', { ...pushed, state: 'x'.repeat(8192) }],
    ['/device_authorization', { client_id: device, scope: 'self', nonce: 'x'.repeat(8192) }],
    ['/token', { client_id: id, grant_type: 'refresh_token', refresh_token: 'x'.repeat(8192) }],
  ] as const) {
    const refused = await server.post(path, fields);
    t.equal(refused.status, 413, path);
    t.match(refused.json, { error: { code: 'PAYLOAD_TOO_LARGE', details: { limit: 8192 } } });
  }
  t.equal((await stored(server)).length, rows.length, 'nothing was stored');

  await consent(await begin(server, config), server.user);
  const sessions = await server.service.db.run(
    `select extract(epoch from expires_at - now())::float8 as seconds
    from issuer_records where model = 'Session' and user_id is not null`,
    [],
  );
  t.ok(sessions.length > 0 && sessions.every(({ seconds }) => Number(seconds) > 2 * 24 * 3600));
});

t.test('an address begins so many sign-ins a minute; a client with a secret is no stranger', async (t) => {
  const { server, config } = await application(t, {}, { SIGN_INS_PER_ADDRESS: '3' });
  const parameters = { redirect_uri: 'https://app.example.org/callback' };
  const secret = await server.register({ type: 'confidential', redirect_uris: [parameters.redirect_uri] });
  const visitor = new Visitor(server.issuer);
  for (const path of ['/device', '/sign-out', '/device', '/sign-out'])
    t.equal((await visitor.open(path)).status, 200, path);
  t.equal((await new Visitor(server.issuer).open('/device')).status, 200, 'another browser');
  const flow = await begin(server, config, {}, visitor);
  t.match((await flow.open()).text, /name="password"/);
  for (const path of ['/device', '/sign-out']) {
    const refused = await new Visitor(server.issuer).open(path);
    t.equal(refused.status, 429, path);
    t.ok(Number(refused.headers.get('retry-after')) >= 1);
    t.match(refused.text, /Too many sign-ins begin from this address/);
  }
  const refused = await new Visitor(server.issuer).open(String(flow.url));
  t.match(refused.url, /error=temporarily_unavailable/, 'the application learns it');
  const { url } = await begin(server, secret.config, parameters);
  for (let n = 0; n < 4; n++)
    t.ok(await client.buildAuthorizationUrlWithPAR(secret.config, Object.fromEntries(url.searchParams)));
  t.equal((await fetch(`${server.issuer}/jwks`)).status, 200);
  const rows = (await stored(server)).filter(({ model }) => model !== 'PushedAuthorizationRequest');
  t.ok(rows.length <= 4, 'refused requests stored nothing');
});

t.test('a pushed request beyond the limit stores no proof of its key either', async (t) => {
  const { server, config } = await application(t, {}, { SIGN_INS_PER_ADDRESS: '1' });
  const DPoP = client.getDPoPHandle(config, await client.randomDPoPKeyPair('ES256'));
  const { url } = await begin(server, config);
  const push = () =>
    client.buildAuthorizationUrlWithPAR(config, Object.fromEntries(url.searchParams), { DPoP });
  t.ok(await push());
  for (let n = 0; n < 3; n++)
    await t.rejects(push(), { status: 429, error: 'temporarily_unavailable' } as never);
  t.equal((await server.service.db.run('select 1 from taken', [])).length, 1);
});

t.test('a form for the code of a device without the session of its page is refused', async (t) => {
  const server = await authorizationServer(t, { AUTH_FAILURES: '0' });
  const responses = [
    await server.post('/device', {}),
    await server.post('/device', { user_code: 'AAAA-AAAA', xsrf: 'x' }),
  ];
  const unknown = await fetch(`${server.issuer}/device/unknown`);
  responses.push({
    ...responses[0]!,
    status: unknown.status,
    headers: unknown.headers,
    text: await unknown.text(),
  });
  for (const { status, text, headers } of responses) {
    t.match({ status, text }, { status: 400, text: /This did not work/ });
    t.equal(headers.get('set-cookie'), null);
  }
  t.equal((await stored(server)).length, 0);
});

t.test('a client whose id no client has, and the database cannot store, is unknown', async (t) => {
  const server = await authorizationServer(t, { AUTH_FAILURES: '0' });
  for (const id of ['\u0000', `${'0'.repeat(8)}\u0000`]) {
    const page = await fetch(`${server.issuer}/authorize?${new URLSearchParams({ client_id: id })}`);
    t.match(await page.text(), /client is invalid/);
    for (const path of ['/token', '/par', '/introspect', '/revoke', '/device_authorization']) {
      const response = await server.post(path, { client_id: id, grant_type: 'refresh_token', token: 'x' });
      t.equal(response.status, 401, path);
      t.match(response.json, { error: 'invalid_client' });
    }
  }
});

t.test('all steps of a sign-in that has begun count once', async (t) => {
  const server = await authorizationServer(t, { SIGN_INS_PER_ADDRESS: '1', AUTH_FAILURES: '0' });
  const visitor = new Visitor(server.issuer);
  let page = await visitor.open('/device');
  for (let n = 0; n < 4; n++) {
    page = await visitor.submit(page, { user_code: 'BCDF-BCDF' });
    t.match(page, { status: 422, text: /name="user_code"/ }, 'a wrong code');
  }
  t.equal((await new Visitor(server.issuer).open('/device')).status, 429, 'another browser');
});

t.test('there is a bound on what all strangers store, and the oldest make room', async (t) => {
  const { server, config } = await application(t);
  const { db } = server.service;
  const tokens = await signIn(server, config);
  await db.run(
    `insert into issuer_records (hash, model, payload, expires_at)
    select sha256(n::text::bytea), 'Session', '{}', now() + n * interval '1 millisecond'
    from generate_series(1, $1::integer) as n
    returning true`,
    [MAX_STRANGERS],
  );
  const count = async () => (await stored(server)).length;
  await consent(await begin(server, config), server.user);
  t.ok((await count()) <= MAX_STRANGERS, 'the bound holds');
  t.ok((await count()) > MAX_STRANGERS - 1000, 'few make room');
  const ofHash = 'select from issuer_records where hash = sha256($1::text::bytea)';
  const left = [1, MAX_STRANGERS].map(async (n) => (await db.run(ofHash, [String(n)])).length);
  t.same(await Promise.all(left), [0, 1], 'the oldest and the youngest');
  t.equal((await new Visitor(server.issuer).open('/device')).status, 200);
  t.ok((await client.refreshTokenGrant(config, tokens.refresh_token!)).access_token);
});

t.test('what strangers stored is deleted when it expires; device codes later', async (t) => {
  const server = await authorizationServer(t);
  const { db } = server.service;
  await db.run(
    `insert into issuer_records (hash, model, payload, user_id, expires_at)
    select sha256((model || minutes || of_user)::bytea), model, minutes::text, case when of_user then $1::uuid end,
      now() - minutes * interval '1 minute'
    from unnest(array['Session', 'DeviceCode']) as model, unnest(array[-1, 1, 11, 61]) as minutes,
      unnest(array[true, false]) as of_user
    returning true`,
    [server.user.id],
  );
  await prune(db, { ...RETENTION, prunes: ISSUER_PRUNES });
  const ofUser = `select model || ' ' || payload as text from issuer_records
    where (user_id is not null)::text = $1 order by model, payload::integer`;
  for (const [isOfUser, codes, sessions] of [
    [false, [-1, 1], [-1]],
    [true, [-1, 1, 11], [-1, 1, 11]],
  ] as const) {
    const left = (await db.run(ofUser, [String(isOfUser)])).map(({ text }) => text);
    t.same(left, [...codes.map((at) => `DeviceCode ${at}`), ...sessions.map((at) => `Session ${at}`)]);
  }
});
