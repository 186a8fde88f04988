import * as client from 'openid-client';
import { Secret, TOTP } from 'otpauth';
import { plinth } from '../../support/command.js';
import { makeKey } from '../../support/credentials.js';
import t from '../../support/test.js';
import { Authenticator } from './authenticator.js';
import { authorizationServer, begin, consent, PASSWORD, type User } from './authorization-server.js';
import { Visitor } from './visitor.js';

const server = await authorizationServer(t, {
  host: 'localhost',
  AUTH: 'bearer,api-key,basic',
  INSECURE: 'basic',
});
const { service } = server;
const { config } = await server.register();

const codeOf = (secret: string, steps = 0) =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + steps * 30_000 });

/** The requests of an application with a token of a user, who has entered the code of an app if there is a secret. */
async function appOf(user: User, secret?: string) {
  const flow = await begin(server, config, { scope: 'openid self' });
  let page = await flow.visitor.open(String(flow.url));
  page = await flow.visitor.submit(page, { email: user.email, password: PASSWORD, action: 'sign-in' });
  if (secret !== undefined) page = await flow.visitor.submit(page, { action: 'code', code: codeOf(secret) });
  const { url } = await flow.visitor.submit(page, { action: 'allow' });
  const checks = { pkceCodeVerifier: flow.verifier, expectedState: flow.state };
  const { access_token: token } = await client.authorizationCodeGrant(config, new URL(url), checks);
  return waysBy({ authorization: `Bearer ${token}` });
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
  const done = await own.change({ action: 'confirm-totp', secret, code: codeOf(secret), ...confirmed });
  t.equal(done.status, 200);
  t.equal(done.json.shown.recovery_codes.length, 10);
  t.match(done.json.app, { recovery_codes: 10, added_at: /^\d{4}-.*Z$/ });
  t.notMatch(JSON.stringify(await own.ways()), secret);
  const half = await own.change({ action: 'remove-totp', ...confirmed });
  t.equal(codeOfProblem(half), 'SECOND_FACTOR_REQUIRED', 'a token from before, and the password');
  await service.db.run('update plinth_totp set last_step = 0', []);
  const whole = await appOf(user, secret);
  t.equal(codeOfProblem(await whole.change({ action: 'remove-totp' })), 'CURRENT_PASSWORD_REQUIRED');
  t.match((await whole.change({ action: 'remove-totp', ...confirmed })).json, { app: null });
});

t.test('a passkey over HTTP, by Basic without the password again', async (t) => {
  const user = await server.addUser('passkey@example.org');
  const basic = Buffer.from(`${user.email}:${PASSWORD}`).toString('base64');
  const own = waysBy({ authorization: `Basic ${basic}` });
  const { json } = await own.change({ action: 'begin-passkey' });
  const { options, token } = json.shown.passkey;
  const authenticator = new Authenticator(server.issuer);
  const response = authenticator.create(options);
  const added = { action: 'passkey', token, response };
  t.match((await own.change({ ...added, token: `${token}x` })).json.error.details, [{ path: '/response' }]);
  t.match((await own.change(added)).json.passkeys, [{ id: authenticator.id, only_after_password: false }]);
  t.equal((await own.change(added)).status, 403, 'a user with a second factor, by the password alone');
  const form = await begin(server, config);
  const page = await form.visitor.open(String(form.url));
  t.match(page.text, 'Sign in with a passkey');
});

t.test('who has no user has no ways, and a token without self may not see them', async (t) => {
  const { key } = await makeKey(service.db, { scopes: ['self'] });
  const { key: other } = await makeKey(service.db, { scopes: ['items:read'] });
  const get = async (name: string) =>
    (await service.send('GET', '/account/ways', { headers: { 'x-api-key': name } })).status;
  t.same([await get(key), await get(other)], [404, 403]);
  const post = { headers: { 'x-api-key': key }, body: { action: 'remove-totp' } };
  t.equal((await service.send('POST', '/account/ways', post)).status, 404);
});

t.test('links to other issuers are shown and removed, except the only way in', async (t) => {
  const user = await server.addUser('links@example.org');
  const link = (subject: string) =>
    service.db.run(
      `insert into plinth_user_links (issuer, subject, user_id, claims)
      values ('https://login.example.org', $1, $2::uuid, '') returning true`,
      [subject, user.id],
    );
  await link('one');
  await link('two');
  const visitor = new Visitor(server.issuer);
  const form = await visitor.open('/account');
  const page = await visitor.submit(form, { email: user.email, password: PASSWORD, action: 'sign-in' });
  t.equal(page.text.match(/<li>https:\/\/login\.example\.org, added \d{4}/g)?.length, 2);
  const own = await appOf(user);
  const { issuers } = await own.ways();
  const [first, second] = issuers.map(({ id }: { id: string }) => id);
  const removed = await visitor.submit(page, { action: 'remove-issuer', id: first });
  t.equal(removed.text.match(/<li>https:\/\/login\.example\.org, added/g)?.length, 1);
  t.match(removed.text, 'Another issuer was removed');
  const stranger = await appOf(await server.addUser('stranger@example.org'));
  await stranger.change({ action: 'remove-issuer', id: second, current_password: PASSWORD });
  t.same((await own.ways()).issuers.length, 1, 'the link of another user');
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
  const enrol = async () => {
    const { secret } = (await own.change({ action: 'begin-totp', ...confirmed })).json.shown.app;
    await own.change({ action: 'confirm-totp', secret, code: codeOf(secret), ...confirmed });
  };
  await enrol();
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
  await flow.visitor.submit(offer, { action: 'confirm-totp', code: codeOf(secret) });
  const again = await flow.visitor.submit(await flow.visitor.open(String(flow.url)), { action: 'allow' });
  const { searchParams } = new URL(again.url);
  t.ok(searchParams.get('code'));
  const checks = { pkceCodeVerifier: flow.verifier, expectedState: flow.state };
  const tokens = await client.authorizationCodeGrant(config, new URL(again.url), checks);
  t.equal(tokens.claims()!.acr, '2');
  t.same(config.serverMetadata().acr_values_supported, ['1', '2']);
});
