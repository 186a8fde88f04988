import * as client from 'openid-client';
import { byToken, PASSWORD } from '../../support/credentials.js';
import t from '../../support/test.js';
import {
  application,
  authorizationServer,
  begin,
  consent,
  INVALID_GRANT,
  signIn,
  type Tokens,
} from './authorization-server.js';
import { Visitor } from './visitor.js';

t.jobs = 3;

t.test('users see and end their sessions and the access of applications', async (t) => {
  const { server, config } = await application(t);
  const tokens = await signIn(server, config);
  const visitor = new Visitor(server.issuer);
  let page = await visitor.open('/account');
  t.match(page.headers.get('content-security-policy'), /default-src 'none'/);
  t.notMatch(page.text, /<script/);
  page = await visitor.enter(page, server.user, 'wrong');
  t.equal(page.status, 422);
  page = await visitor.enter(page, server.user);
  t.match(page.text, `Signed in as <strong>${server.user.email}</strong>`);
  t.match(page.text, /Reader: openid self offline_access/);
  t.match(page.text, /Signed in \d{4}-\d\d-\d\d \d\d:\d\d/, 'the session of the application');
  const [, csrf = ''] = /name="csrf" value="([^"]*)"/.exec(page.text) ?? [];
  const ids = [...page.text.matchAll(/name="id" value="([^"]*)"/g)].map(([, id]) => id!);
  t.equal(ids.length, 2);

  page = await visitor.submit(page, { csrf, id: ids[0]!, action: 'revoke' });
  t.match(page.text, /No application has access/);
  await server.ends(tokens.access_token);
  page = await visitor.submit(page, { csrf, id: ids[1]!, action: 'end-session' });
  t.match(page.text, /There are no other sessions/);

  page = await visitor.submit(page, { csrf: 'forged', action: 'sign-out' });
  t.equal(page.status, 403);
  page = await visitor.open('/account');
  page = await visitor.submit(page, { action: 'sign-out' });
  t.match(page.text, /to your account/);
});

t.test('the form of the sign-in is of one browser', async (t) => {
  const { issuer, user } = await authorizationServer(t);
  const right = { email: user.email, password: PASSWORD, action: 'sign-in' };
  const [own, other] = [new Visitor(issuer), new Visitor(issuer)];
  const form = await own.open('/account');
  const second = await own.open('/account');
  const csrf = /name="csrf" value="([^"]*)"/.exec((await other.open('/account')).text)![1]!;
  for (const [visitor, page] of [
    [new Visitor(issuer), form],
    [other, form],
  ] as const)
    t.equal((await visitor.submit(page, right)).status, 403, 'the form of another browser');
  t.equal((await own.submit(form, { ...right, csrf })).status, 403, 'the token of another browser');
  t.match((await own.submit(second, right)).text, /Signed in as/);
  t.match((await own.submit(form, right)).status, 403, 'a form from before the sign-in');
});

t.test('a session ends without requests, and at its end although there are some', async (t) => {
  const server = await authorizationServer(t, { SESSION_IDLE: '86400' });
  const { db } = server.service;
  const { config } = await server.register();
  const flow = await begin(server, config, { scope: 'openid self' });
  const { url } = await consent(flow, server.user);
  const { visitor } = flow;
  let tokens: Tokens = await flow.redeem(url);
  const refresh = async () => {
    tokens = await client.refreshTokenGrant(config, tokens.refresh_token!);
  };
  t.match((await visitor.open('/account')).text, /Signed in as/);
  const OWN = `model = 'Session' and user_id is not null`;
  const end = `update issuer_records set expires_at = now() + $1::interval where ${OWN} returning true`;
  const set = (expires: string) => db.run(end, [expires]);
  const ends = `select round(extract(epoch from expires_at - now()) / 3600)::int as left,
      round(((payload::json ->> 'exp')::float8 - (payload::json ->> 'loginTs')::float8) / 3600)::int as life
    from issuer_records where ${OWN}`;
  const hours = async () => (await db.run(ends, []))[0]!;
  t.match(await hours(), { left: 24, life: 14 * 24 });
  const uses: readonly (readonly [name: string, use: () => Promise<unknown>])[] = [
    ['a page', () => visitor.open('/items')],
    ['the account page', () => visitor.open('/account')],
    ['an application', async () => (await begin(server, config, {}, visitor)).open()],
    ['a refresh', refresh],
  ];
  for (const [name, use] of uses) {
    await set('2 hours');
    await use();
    t.match(await hours(), { left: 24 }, name);
  }
  await db.run(
    `update issuer_records set payload = jsonb_set(payload::jsonb, '{loginTs}',
      to_jsonb(floor(extract(epoch from now()))::bigint - 13 * 86400 - 43200)) where ${OWN} returning true`,
    [],
  );
  await (await begin(server, config, {}, visitor)).open();
  t.match(await hours(), { left: 12, life: 14 * 24 }, 'the absolute end');
  await set('2 hours');
  await refresh();
  t.match(await hours(), { left: 12 }, 'the absolute end, of a refresh');
  await set('-1 second');
  await t.rejects(refresh(), INVALID_GRANT);
  t.match((await visitor.open('/account')).text, /to your account/);
  t.equal((await visitor.open('/items')).status, 401);
});

t.test('users change their password, with the rules of the API', async (t) => {
  const { server, config } = await application(t);
  const flow = await begin(server, config);
  await consent(flow, server.user);
  const change = async (current: string, password: string) => {
    const page = await flow.visitor.open('/account');
    return flow.visitor.submit(page, { current, password, action: 'change-password' });
  };
  const next = 'another long passphrase of mine';
  t.match(await change('wrong', next), { status: 422, text: /The current password is wrong/ });
  t.match(await change(PASSWORD, 'short'), { status: 422, text: /The new password must have at least/ });
  t.match(await change(PASSWORD, 'password1'), { status: 422, text: /The new password/ });
  t.match(await change(PASSWORD, next), { status: 200, text: /The password was changed/ });
  t.equal((await server.enter()).page.status, 422);
  t.match((await server.enter(server.user, '/account', next)).page.text, /Signed in as/);
});

t.test('a new password ends sessions and the access of applications, however it is set', async (t) => {
  const { server, config } = await application(t);
  const { send } = server.service;
  let current = PASSWORD;
  const signedIn = async () => {
    const entered = await server.enter(server.user, '/account', current);
    t.match(entered.page.text, /Signed in as/);
    return entered;
  };
  const ends = async (other: Visitor, { access_token: token, refresh_token: refresh }: Tokens) => {
    t.match((await other.open('/account')).text, /to your account/, 'the other session');
    await t.rejects(client.refreshTokenGrant(config, refresh!), INVALID_GRANT);
    await server.ends(token);
  };

  const first = await signIn(server, config);
  const { visitor: other } = await signedIn();
  const { visitor, page } = await signedIn();
  const next = 'another long passphrase of mine';
  const before = visitor.cookie('plinth_session');
  const changed = await visitor.submit(page, { current, password: next, action: 'change-password' });
  t.match(changed.text, /The password was changed/);
  t.match(changed.text, /There are no other sessions/);
  t.not(visitor.cookie('plinth_session'), before);
  t.match((await visitor.open('/account')).text, /Signed in as/, 'the own session is a new one');
  await ends(other, first);

  current = next;
  const { visitor: another } = await signedIn();
  const second = await signIn(server, config, {}, current);
  const path = `/users/${server.user.id}`;
  const body = { password: 'a third passphrase of mine', current_password: current };
  t.match(await send('PATCH', path, { headers: byToken(second.access_token), body }), { status: 200 });
  await ends(another, second);
  t.match((await visitor.open('/account')).text, /to your account/);
});
