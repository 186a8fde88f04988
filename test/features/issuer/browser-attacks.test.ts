import * as client from 'openid-client';
import t from '../../support/test.js';
import { authorizationServer, begin, consent, PASSWORD, signIn } from './authorization-server.js';
import { type Page, Visitor } from './visitor.js';

t.jobs = 3;

const isCode = ({ url }: Page) => new URL(url).searchParams.has('code');

t.test('no page can be framed, has a script, or is stored', async (t) => {
  const server = await authorizationServer(t);
  const { config } = await server.register();
  const { url, visitor } = await begin(server, config);
  const signInForm = await visitor.open(String(url));
  const credentials = { email: server.user.email, password: PASSWORD, action: 'sign-in' };
  const consentForm = await visitor.submit(signInForm, credentials);
  t.match(consentForm.text, /value="allow"/);
  const pages = [
    signInForm,
    consentForm,
    await visitor.open('/device'),
    await visitor.open('/account'),
    await visitor.open('/sign-out'),
    await visitor.open('/interaction/none'),
    await visitor.open('/authorize'),
  ];
  for (const { headers, text, url } of pages) {
    t.match(headers.get('content-security-policy'), /default-src 'none'.*frame-ancestors 'none'/, url);
    t.notMatch(headers.get('content-security-policy'), /unsafe/);
    t.equal(headers.get('x-frame-options'), 'DENY');
    t.match(headers.get('cache-control'), /no-store/);
    t.equal(headers.get('referrer-policy'), 'same-origin', 'a form without a referrer has no origin');
    t.notMatch(text, /<script|<iframe|<img| on\w+=/);
    for (const [, id] of text.matchAll(/<input id="([^"]+)"/g)) t.match(text, `<label for="${id}">`);
  }
});

t.test('a sign-in begins a new session, whatever the browser had before', async (t) => {
  const server = await authorizationServer(t);
  const { config } = await server.register();
  const flow = await begin(server, config);
  await flow.visitor.open(String(flow.url));
  const before = flow.visitor.cookie('plinth_session');
  await consent(flow, server.user);
  const after = flow.visitor.cookie('plinth_session');
  t.ok(after);
  t.not(after, before);
  const planted = new Visitor(server.issuer);
  planted.plant('plinth_session', 'chosen-by-an-attacker');
  const form = await planted.open('/account');
  await planted.submit(form, { email: server.user.email, password: PASSWORD, action: 'sign-in' });
  t.not(planted.cookie('plinth_session'), 'chosen-by-an-attacker');
  t.match((await planted.open('/account')).text, /Signed in as/);
  const forged = new Visitor(server.issuer);
  forged.plant('plinth_session', planted.cookie('plinth_session')!);
  t.match((await forged.open('/account')).text, /to your account/, 'without the signature of the cookie');
});

t.test('consent and account forms that another site submits do nothing', async (t) => {
  const server = await authorizationServer(t);
  const { config } = await server.register();
  const flow = await begin(server, config);
  const form = await flow.visitor.open(String(flow.url));
  const credentials = { email: server.user.email, password: PASSWORD, action: 'sign-in' };
  const question = await flow.visitor.submit(form, credentials);
  for (const csrf of ['', 'forged', 'x'.repeat(43)]) {
    const page = await flow.visitor.submit(question, { csrf, action: 'allow' });
    t.equal(page.status, 403);
    t.notOk(isCode(page));
  }
  const account = await flow.visitor.open('/account');
  const change = { current: PASSWORD, password: 'chosen by an attacker', action: 'change-password' };
  t.equal((await flow.visitor.submit(account, { ...change, csrf: '' })).status, 403);
  const foreign = { origin: 'https://evil.example' };
  t.equal((await flow.visitor.submit(account, change, foreign)).status, 403, 'Origin of another site');
  const device = await flow.visitor.open('/device');
  const page = await flow.visitor.submit(device, { xsrf: 'forged', user_code: 'AAAA-AAAA' });
  t.equal(page.status, 400);
  t.ok(isCode(await flow.visitor.submit(question, { action: 'allow' })), 'the own form still works');
});

t.test('a form that is submitted twice, and a page of the past, give no second code', async (t) => {
  const server = await authorizationServer(t);
  const { config } = await server.register();
  const flow = await begin(server, config);
  const form = await flow.visitor.open(String(flow.url));
  const credentials = { email: server.user.email, password: PASSWORD, action: 'sign-in' };
  const question = await flow.visitor.submit(form, credentials);
  const again = await flow.visitor.submit(form, credentials);
  t.match(again, { status: 400, text: /Start again/ }, 'sign-in, submitted again');
  t.match(await flow.visitor.open(form.url), { status: 400, text: /Start again/ }, 'the back button');
  t.ok(isCode(await flow.visitor.submit(question, { action: 'allow' })));
  const second = await flow.visitor.submit(question, { action: 'allow' });
  t.match(second, { status: 400, text: /Start again/ });
  const denied = await begin(server, config, {}, flow.visitor);
  const other = await flow.visitor.open(String(denied.url));
  const refused = await flow.visitor.submit(other, { action: 'cancel' });
  t.match(refused.url, /error=access_denied/);
  t.notOk(isCode(await flow.visitor.submit(other, { action: 'allow' })), 'allowed after it was denied');
});

t.test('one browser cannot continue the request of another', async (t) => {
  const server = await authorizationServer(t);
  const { config } = await server.register();
  const victim = await begin(server, config);
  const attacker = await begin(server, config);
  await consent(victim, server.user);
  const form = await attacker.visitor.open(String(attacker.url));
  t.equal((await victim.visitor.open(form.url)).status, 400);
  const resumed = form.url.replace('/interaction/', '/authorize/');
  const page = await victim.visitor.open(resumed);
  t.equal(page.status, 400);
  t.notOk(isCode(page));
});

t.test('responses name the issuer (RFC 9207); tokens are never in an address', async (t) => {
  const server = await authorizationServer(t);
  const { config } = await server.register();
  const flow = await begin(server, config);
  const { url } = await consent(flow, server.user);
  const mixed = new URL(url);
  t.equal(mixed.searchParams.get('iss'), server.issuer);
  mixed.searchParams.set('iss', 'https://other.example');
  const checks = { pkceCodeVerifier: flow.verifier, expectedState: flow.state };
  await t.rejects(client.authorizationCodeGrant(config, mixed, checks), 'an issuer that was mixed up');
  const tokens = await client.authorizationCodeGrant(config, new URL(url), checks);
  for (const path of ['/whoami', '/userinfo']) {
    const { status } = await server.service.send('GET', `${path}?access_token=${tokens.access_token}`);
    t.ok(status === 400 || status === 401, `${path}: ${status}`);
  }
  const body = `access_token=${tokens.access_token}`;
  const type = 'application/x-www-form-urlencoded';
  t.not((await server.service.send('POST', '/userinfo', { body, type })).status, 200);
  for (const mode of ['fragment', 'form_post', 'web_message', 'query.jwt']) {
    const other = await begin(server, config, { response_mode: mode }, flow.visitor);
    const page = await flow.visitor.open(String(other.url));
    t.notMatch(`${page.url}${page.text}`, /access_token|id_token=/, mode);
  }
});

t.test('an unknown user and a wrong password look the same', async (t) => {
  const server = await authorizationServer(t);
  const { config } = await server.register();
  const attempt = async (email: string) => {
    const { url, visitor } = await begin(server, config);
    const form = await visitor.open(String(url));
    const { status, text } = await visitor.submit(form, { email, password: 'wrong', action: 'sign-in' });
    return { status, text: text.replaceAll(email, '').replace(/value="[^"]{43}"/, '') };
  };
  t.same(await attempt('nobody@example.org'), await attempt(server.user.email));
  const hostile = `"><script>alert(1)</script>@example.org`;
  const { url, visitor } = await begin(server, config);
  const page = await visitor.submit(await visitor.open(String(url)), { email: hostile, action: 'sign-in' });
  t.notMatch(page.text, /<script/);
});

t.test('a user who was deleted is signed out everywhere', async (t) => {
  const server = await authorizationServer(t);
  const { config } = await server.register();
  const flow = await begin(server, config);
  const { url } = await consent(flow, server.user);
  await signIn(server, config);
  await server.service.db.run('delete from public_collections.users where id = $1', [server.user.id]);
  const checks = { pkceCodeVerifier: flow.verifier, expectedState: flow.state };
  const refused = { error: 'invalid_grant' } as unknown as Error;
  await t.rejects(client.authorizationCodeGrant(config, new URL(url), checks), refused, 'the code');
  t.match((await flow.visitor.open('/account')).text, /to your account/, 'the session');
  const [row] = await server.service.db.run(
    'select count(*)::int as count from issuer_records where user_id = $1',
    [server.user.id],
  );
  t.same(row, { count: 0 });
});
