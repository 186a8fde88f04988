import * as client from 'openid-client';
import { Secret } from 'otpauth';
import { plinth } from '../../support/command.js';
import { byKey, byPassword, byToken, makeKey, PASSWORD } from '../../support/credentials.js';
import t from '../../support/test.js';
import { until } from '../../support/until.js';
import { Authenticator, totpOf } from './authenticator.js';
import { authorizationServer, begin, consent, INVALID_GRANT, type User } from './authorization-server.js';

const server = await authorizationServer(t, {
  host: 'localhost',
  AUTH: 'bearer,api-key,basic',
  INSECURE: 'basic',
});
const { service } = server;
const { config } = await server.register();

/** The requests of an application with a token of a user, who has entered the code of an app if there is a secret. */
const appOf = async (user: User, secret?: string) =>
  waysBy({ authorization: `Bearer ${(await tokensOf(user, secret)).access_token}` });

async function tokensOf(user: User, secret?: string) {
  const flow = await begin(server, config);
  let page = await flow.enter(user);
  if (secret !== undefined) page = await flow.visitor.submit(page, { action: 'code', code: totpOf(secret) });
  return flow.redeem((await flow.visitor.submit(page, { action: 'allow' })).url);
}

const waysBy = (headers: Record<string, string>) => ({
  ways: async () => (await service.send('GET', '/account/ways', { headers })).json,
  change: (body: object) => service.send('POST', '/account/ways', { headers, body }),
});

const codeOfProblem = ({ json }: { json: { error: { code: string } } }) => json.error.code;

t.test('an application adds and removes an authenticator app, with the password of the user', async (t) => {
  const user = await server.addUser('app@example.org');
  const own = await appOf(user);
  t.same(await own.ways(), { password: true, app: null, passkeys: [], issuers: [] });
  const confirmed = { current_password: PASSWORD };
  t.equal(codeOfProblem(await own.change({ action: 'begin-totp' })), 'CURRENT_PASSWORD_REQUIRED');
  const wrong = await own.change({ action: 'begin-totp', current_password: 'wrong' });
  t.equal(codeOfProblem(wrong), 'CURRENT_PASSWORD_WRONG');
  t.equal((await own.change({ action: 'toString', ...confirmed })).status, 400);
  const begun = await own.change({ action: 'begin-totp', ...confirmed });
  const { secret, uri, svg } = begun.json.shown.app;
  t.match(uri, `secret=${secret}`);
  t.match(svg, /^<svg /);
  t.match(begun.headers['cache-control'], 'no-store');
  const refused = await own.change({ action: 'confirm-totp', secret, code: '000000', ...confirmed });
  t.match([refused.status, refused.json.error.details], [400, [{ path: '/code', keyword: 'sign-in' }]]);
  const done = await own.change({ action: 'confirm-totp', secret, code: totpOf(secret), ...confirmed });
  t.equal(done.status, 200);
  t.equal(done.json.shown.recovery_codes.length, 10);
  t.match(done.json.app, { recovery_codes: 10, added_at: /^\d{4}-.*Z$/ });
  await service.db.run('update plinth_totp set last_step = 0', []);
  const whole = await appOf(user, secret);
  t.notMatch(JSON.stringify(await whole.ways()), secret);
  t.equal(codeOfProblem(await whole.change({ action: 'remove-totp' })), 'CURRENT_PASSWORD_REQUIRED');
  t.match((await whole.change({ action: 'remove-totp', ...confirmed })).json, { app: null });
});

t.test('the access of applications without a second factor ends when one is added', async (t) => {
  const user = await server.addUser('half@example.org');
  const tokens = await tokensOf(user);
  const own = waysBy(byToken(tokens.access_token));
  const { visitor } = await server.enter(user);
  const { refresh_token: refresh } = await client.refreshTokenGrant(config, tokens.refresh_token!);
  const { secret } = (await own.change({ action: 'begin-totp', current_password: PASSWORD })).json.shown.app;
  const added = { action: 'confirm-totp', secret, code: totpOf(secret), current_password: PASSWORD };
  t.equal((await own.change(added)).status, 200);
  await t.rejects(client.refreshTokenGrant(config, refresh!), INVALID_GRANT);
  const ways = async () => (await own.change({ action: 'remove-totp' })).status;
  t.equal(await until('the token ends', ways, 401), 401);
  t.match((await visitor.open('/account')).text, 'name="code"', 'the session proves one factor');
  await service.db.run('update plinth_totp set last_step = 0', []);
  const whole = await tokensOf(user, secret);
  const passkey = `insert into passkeys values ('half', $1::uuid, '', 0, '[]') returning true`;
  await service.db.run(passkey, [user.id]);
  const more = await client.refreshTokenGrant(config, whole.refresh_token!);
  const removed = { action: 'remove-passkey', id: 'half', current_password: PASSWORD };
  const both = waysBy(byToken(more.access_token));
  t.match(await both.change(removed), { status: 200, json: { passkeys: [], app: {} } });
  t.equal((await both.change(removed)).status, 404, 'there is none any more');
});

t.test('a sign-in that goes on while a factor is added or removed gives no access', async (t) => {
  const user = await server.addUser('race@example.org');
  const refresh = async (token: string) => client.refreshTokenGrant(config, token);
  const refused = { error: 'invalid_grant' } as never;
  // The triggers see no record that another transaction stores meanwhile.
  const unseen = (sql: string) =>
    service.db.transaction(async (run) => {
      await run('set local session_replication_role = replica', []);
      await run(sql, [user.id]);
    });
  const half = await tokensOf(user);
  const secret = new Secret({ size: 20 }).base32;
  await unseen(`insert into plinth_totp (user_id, secret, last_step) values ($1::uuid, '${secret}', 0)`);
  await t.rejects(refresh(half.refresh_token!), refused);
  await unseen(`update plinth_totp set last_step = 0 where user_id = $1::uuid`);
  const whole = await tokensOf(user, secret);
  await unseen('delete from plinth_totp where user_id = $1::uuid');
  await t.rejects(refresh(whole.refresh_token!), refused);
});

t.test('an action that changes nothing is 404', async (t) => {
  const own = waysBy(byPassword((await server.addUser('none@example.org')).email));
  for (const body of [
    { action: 'remove-totp' },
    { action: 'remove-passkey', id: 'x' },
    { action: 'remove-issuer', id: 'x' },
    { action: 'remove-issuer' },
  ])
    t.match(await own.change(body), { status: 404, json: { error: /^No such / } });
});

t.test('a passkey over HTTP, by Basic without the password again', async (t) => {
  const user = await server.addUser('passkey@example.org');
  const own = waysBy(byPassword(user.email));
  const { json } = await own.change({ action: 'begin-passkey' });
  const { options, token } = json.shown.passkey;
  const authenticator = new Authenticator(server.issuer);
  const response = authenticator.create(options);
  const added = { action: 'passkey', token, response };
  t.match((await own.change({ ...added, token: `${token}x` })).json.error.details, [{ path: '/response' }]);
  t.match((await own.change(added)).json.passkeys, [{ id: authenticator.id, only_after_password: false }]);
  t.equal(codeOfProblem(await own.change(added)), 'SECOND_FACTOR_REQUIRED', 'by the password alone');
  t.match((await (await begin(server, config)).open()).text, 'Sign in with a passkey');
});

t.test('who has no user has no ways, and a token without self may not see them', async (t) => {
  const { key } = await makeKey(service.db, { scopes: ['self'] });
  const { key: other } = await makeKey(service.db, { scopes: ['items:read'] });
  const get = async (name: string) =>
    (await service.send('GET', '/account/ways', { headers: byKey(name) })).status;
  t.same([await get(key), await get(other)], [404, 403]);
  const post = { headers: { 'x-api-key': key }, body: { action: 'remove-totp' } };
  t.equal((await service.send('POST', '/account/ways', post)).status, 404);
});

t.test('links to other issuers are shown and removed, except the only way in', async (t) => {
  const user = await server.addUser('links@example.org');
  const linked = `insert into plinth_user_links (issuer, subject, user_id, claims)
    values ('https://login.example.org', $1, $2::uuid, '') returning true`;
  const link = (subject: string) => service.db.run(linked, [subject, user.id]);
  await link('one');
  await link('two');
  const { visitor, page } = await server.enter(user);
  t.equal(page.text.match(/<li>https:\/\/login\.example\.org, added \d{4}/g)?.length, 2);
  const own = await appOf(user);
  const { issuers } = await own.ways();
  const [first, second] = issuers.map(({ id }: { id: string }) => id);
  const removed = await visitor.submit(page, { action: 'remove-issuer', id: first });
  t.equal(removed.text.match(/<li>https:\/\/login\.example\.org, added/g)?.length, 1);
  t.match(removed.text, 'Another issuer was removed');
  const stranger = await appOf(await server.addUser('stranger@example.org'));
  const confirmed = { current_password: PASSWORD };
  const foreign = await stranger.change({ action: 'remove-issuer', id: second, ...confirmed });
  t.equal(foreign.status, 404, 'the link of another user');
  t.same((await own.ways()).issuers.length, 1);
  await link('four');
  const [{ id: fourth }] = (await own.ways()).issuers;
  const byApp = await own.change({ action: 'remove-issuer', id: fourth, ...confirmed });
  t.match(byApp, { status: 200, json: { issuers: [{ id: second }] } });
  t.equal((await own.change({ action: 'remove-issuer', id: fourth, ...confirmed })).status, 404, 'twice');
  await service.db.run('delete from passwords where user_id = $1::uuid returning true', [user.id]);
  const last = await visitor.submit(removed, { action: 'remove-issuer', id: second });
  t.match(last.text, 'Nothing else signs you in');
  const both = await link('three');
  t.equal(both.length, 1);
  t.notMatch((await visitor.submit(removed, { action: 'remove-issuer', id: second })).text, 'Nothing else');
});

t.test('an administrator removes a second factor, and adds none', async (t) => {
  const { key } = await makeKey(service.db);
  const user = await server.addUser('lost@example.org');
  const path = `/user-accounts/${user.id}`;
  const patch = (body: object) => service.send('PATCH', path, { headers: { 'x-api-key': key }, body });
  const confirmed = { current_password: PASSWORD };
  const own = await appOf(user);
  const { secret } = (await own.change({ action: 'begin-totp', ...confirmed })).json.shown.app;
  await own.change({ action: 'confirm-totp', secret, code: totpOf(secret), ...confirmed });
  t.match((await patch({ second_factor: true })).json, { second_factor: true });
  t.match((await patch({ disabled: true })).json, { second_factor: true }, 'another change leaves it');
  t.match((await patch({ disabled: false, second_factor: false })).json, { second_factor: false });
  t.match((await patch({ second_factor: true })).json.error.details, [{ path: '/second_factor' }]);
  await service.db.run(`insert into plinth_totp values ($1::uuid, '', 0) returning true`, [user.id]);
  const env = { DATABASE_URL: service.databaseUrl };
  t.equal((await plinth(t, ['users', 'remove-second-factor', user.email], env)).code, 0);
  t.match((await patch({})).json, { second_factor: false });
});

t.test('acr_values require a second factor, and unknown ones are refused', async (t) => {
  const user = await server.addUser('acr@example.org');
  const open = async (acr_values: string) => {
    const flow = await begin(server, config, { scope: 'openid self', acr_values });
    return { flow, page: await consent(flow, user) };
  };
  t.match((await open('phr')).page.url, /error=unmet_authentication_requirements/);
  for (const enough of ['1', '2 1', 'phr 1']) t.match((await open(enough)).page.url, /[?&]code=/, enough);
  const { flow, page } = await open('2');
  t.match(page.text, 'This needs a second factor');
  const account = await flow.visitor.open('/account');
  const offer = await flow.visitor.submit(account, { action: 'begin-totp' });
  const secret = /name="secret" value="([A-Z2-7]{32})"/.exec(offer.text)![1]!;
  await flow.visitor.submit(offer, { action: 'confirm-totp', code: totpOf(secret) });
  const again = await flow.visitor.submit(await flow.open(), { action: 'allow' });
  const tokens = await flow.redeem(again.url);
  t.equal(tokens.claims()!.acr, '2');
  t.same(config.serverMetadata().acr_values_supported, ['1', '2']);
});
