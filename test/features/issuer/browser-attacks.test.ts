import { PASSWORD } from '../../support/credentials.js';
import t from '../../support/test.js';
import { application, begin, consent } from './authorization-server.js';
import { type Page, Visitor } from './visitor.js';

t.jobs = 3;

const isCode = ({ url }: Page) => new URL(url).searchParams.has('code');

t.test('no page can be framed, has a foreign script, or is stored', async (t) => {
  const { server, config } = await application(t);
  const { visitor, ...flow } = await begin(server, config);
  const posted = await begin(server, config, { response_mode: 'form_post' });
  const refused = new URL(posted.url);
  refused.searchParams.set('response_type', 'token');
  const [signInForm, consentForm] = [await flow.open(), await flow.enter(server.user)];
  t.match(consentForm.text, /value="allow"/);
  const own = ['/device', '/account', '/sign-out', '/interaction/none', '/authorize'];
  const pages = [signInForm, consentForm];
  for (const path of own) pages.push(await visitor.open(path));
  // Pages that oidc-provider writes itself.
  const stranger = new Visitor(server.issuer);
  for (const path of ['/device?user_code=BCDF-BCDF', '/sign-out', String(refused)])
    pages.push(await stranger.open(path));
  const code = await consent(posted, server.user);
  for (const { headers, text, url } of [...pages, code]) {
    const policy = headers.get('content-security-policy') ?? '';
    t.match(policy, /^default-src 'none'; .*base-uri 'none'; form-action .*frame-ancestors 'none'$/, url);
    t.notMatch(policy, /unsafe/, url);
    t.equal(headers.get('x-frame-options'), 'DENY');
    t.equal(headers.get('referrer-policy'), 'same-origin', 'a form without a referrer has no origin');
    if (text.includes('<script>')) t.match(policy, /script-src 'sha256-/, url);
  }
  for (const { headers, text } of pages.slice(0, 2 + own.length)) {
    t.match(headers.get('cache-control'), /no-store/);
    t.notMatch(text, /<script|<iframe|<img| on\w+=/);
    for (const [, id] of text.matchAll(/<input id="([^"]+)"/g)) t.match(text, `<label for="${id}">`);
  }
  t.match(code.text, /name="code"/);
  t.match(code.headers.get('content-security-policy'), `form-action 'self' http://127.0.0.1:7777;`);
});

t.test('a sign-in begins a new session, whatever the browser had before', async (t) => {
  const { server, config } = await application(t);
  const flow = await begin(server, config);
  await flow.open();
  const before = flow.visitor.cookie('plinth_session');
  await consent(flow, server.user);
  const after = flow.visitor.cookie('plinth_session');
  t.ok(after);
  t.not(after, before);
  const planted = new Visitor(server.issuer);
  planted.plant('plinth_session', 'chosen-by-an-attacker');
  await planted.enter(await planted.open('/account'), server.user);
  t.not(planted.cookie('plinth_session'), 'chosen-by-an-attacker');
  t.match((await planted.open('/account')).text, /Signed in as/);
  const forged = new Visitor(server.issuer);
  forged.plant('plinth_session', planted.cookie('plinth_session')!);
  t.match((await forged.open('/account')).text, /to your account/, 'without the signature of the cookie');
});

t.test('forms of a sign-in, a consent and an account that another site submits do nothing', async (t) => {
  const { server, config } = await application(t);
  const flow = await begin(server, config);
  const form = await flow.open();
  const fields = { email: server.user.email, password: PASSWORD, action: 'sign-in' };
  t.equal((await flow.visitor.submit(form, { ...fields, csrf: 'forged' })).status, 403);
  const question = await flow.visitor.enter(form, server.user);
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
  const { server, config } = await application(t);
  const flow = await begin(server, config);
  const form = await flow.open();
  const question = await flow.visitor.enter(form, server.user);
  const again = await flow.visitor.enter(form, server.user);
  t.match(again, { status: 400, text: /Start again/ }, 'sign-in, submitted again');
  t.match(await flow.visitor.open(form.url), { status: 400, text: /Start again/ }, 'the back button');
  t.ok(isCode(await flow.visitor.submit(question, { action: 'allow' })));
  const second = await flow.visitor.submit(question, { action: 'allow' });
  t.match(second, { status: 400, text: /Start again/ });
  const denied = await begin(server, config, {}, flow.visitor);
  const other = await denied.open();
  const refused = await flow.visitor.submit(other, { action: 'cancel' });
  t.match(refused.url, /error=access_denied/);
  t.notOk(isCode(await flow.visitor.submit(other, { action: 'allow' })), 'allowed after it was denied');
});

t.test('one browser cannot continue the request of another', async (t) => {
  const { server, config } = await application(t);
  const victim = await begin(server, config);
  const attacker = await begin(server, config);
  await consent(victim, server.user);
  const form = await attacker.open();
  t.equal((await victim.visitor.enter(form, server.user)).status, 400, 'with the cookie of another request');
  const stolen = await new Visitor(server.issuer).enter(form, server.user);
  t.match(stolen, { status: 400, text: /Start again/ }, 'without the cookie of the browser');
  t.equal((await victim.visitor.open(form.url)).status, 400);
  const resumed = form.url.replace('/interaction/', '/authorize/');
  const page = await victim.visitor.open(resumed);
  t.equal(page.status, 400);
  t.notOk(isCode(page));
});

t.test('responses name the issuer (RFC 9207); tokens are never in an address', async (t) => {
  const { server, config } = await application(t);
  const flow = await begin(server, config);
  const { url } = await consent(flow, server.user);
  const mixed = new URL(url);
  t.equal(mixed.searchParams.get('iss'), server.issuer);
  mixed.searchParams.set('iss', 'https://other.example');
  await t.rejects(flow.redeem(mixed), 'an issuer that was mixed up');
  const tokens = await flow.redeem(url);
  for (const path of ['/whoami', '/userinfo']) {
    const { status } = await server.service.send('GET', `${path}?access_token=${tokens.access_token}`);
    t.ok(status === 400 || status === 401, `${path}: ${status}`);
  }
  const body = `access_token=${tokens.access_token}`;
  const type = 'application/x-www-form-urlencoded';
  t.not((await server.service.send('POST', '/userinfo', { body, type })).status, 200);
  for (const mode of ['fragment', 'form_post', 'web_message', 'query.jwt']) {
    const other = await begin(server, config, { response_mode: mode }, flow.visitor);
    const page = await other.open();
    t.notMatch(`${page.url}${page.text}`, /access_token|id_token=/, mode);
  }
});

t.test('an unknown user and a wrong password look the same', async (t) => {
  const { server, config } = await application(t);
  const attempt = async (email: string) => {
    const { status, text } = await (await begin(server, config)).enter({ email }, 'wrong');
    return { status, text: text.replaceAll(email, '').replace(/value="[^"]{43}"/, '') };
  };
  t.same(await attempt('nobody@example.org'), await attempt(server.user.email));
  const hostile = `"><script>alert(1)</script>@example.org`;
  t.notMatch((await (await begin(server, config)).enter({ email: hostile }, '')).text, /<script/);
});
