import * as client from 'openid-client';
import { noBrowser, openPage } from '../../support/chromium.js';
import t from '../../support/test.js';
import {
  type AuthorizationServer,
  authorizationServer,
  begin,
  consent,
  type Flow,
  PASSWORD,
  REDIRECT,
} from './authorization-server.js';
import { type Page, Visitor } from './visitor.js';

t.jobs = 3;

const RETURN = 'http://127.0.0.1:7777/signed-out';

/** How a browser marks a form of a page of another site. */
const CROSS_SITE = [
  { 'sec-fetch-site': 'cross-site', origin: 'https://app.example.org' },
  { 'sec-fetch-site': 'cross-site', origin: 'null' },
  { origin: 'https://app.example.org' },
  { origin: 'null' },
];

/** A page of an application, whose form has the parameters of an address that a client library has made. */
function formOf(url: URL): { page: Page; fields: Record<string, string> } {
  const page = { status: 200, url: url.origin + url.pathname, headers: new Headers(), text: '' };
  return { page, fields: Object.fromEntries(url.searchParams) };
}

const post = (visitor: Visitor, url: URL, headers: Record<string, string> = {}): Promise<Page> => {
  const { page, fields } = formOf(url);
  return visitor.submit(page, fields, headers);
};

/** A web application, whose consent is remembered. */
const registerWeb = ({ register }: AuthorizationServer) =>
  register({
    redirect_uris: ['https://app.example.org/callback'],
    post_logout_redirect_uris: [RETURN],
  });

const WEB = { redirect_uri: 'https://app.example.org/callback', prompt: '', scope: 'openid self' };

async function signInByPost(server: AuthorizationServer, flow: Flow): Promise<Page> {
  const form = await post(flow.visitor, flow.url);
  const credentials = { email: server.user.email, password: PASSWORD, action: 'sign-in' };
  return flow.visitor.submit(await flow.visitor.submit(form, credentials), { action: 'allow' });
}

const stored = async ({ service }: AuthorizationServer): Promise<number> =>
  (await service.db.run('select from issuer_records', [])).length;

t.test('an authorization request by POST leads to tokens', async (t) => {
  const server = await authorizationServer(t);
  const { config } = await server.register();
  const flow = await begin(server, config);
  const { url } = await signInByPost(server, flow);
  const tokens = await client.authorizationCodeGrant(config, new URL(url), {
    pkceCodeVerifier: flow.verifier,
    expectedState: flow.state,
  });
  t.equal(tokens.claims()?.sub, server.user.id);
  const pushed = await begin(server, config);
  const address = await client.buildAuthorizationUrlWithPAR(
    config,
    Object.fromEntries(pushed.url.searchParams),
  );
  t.match((await post(flow.visitor, address)).text, /value="allow"/, 'a pushed request');
  const none = await begin(server, config, { prompt: 'none' });
  t.match((await post(new Visitor(server.issuer), none.url)).url, /error=login_required/);
});

t.test('a form of another site is sent once more from this site, with the cookies', async (t) => {
  const server = await authorizationServer(t);
  const { config } = await registerWeb(server);
  const first = await begin(server, config, WEB);
  await consent(first, server.user);
  for (const headers of CROSS_SITE) {
    const before = await stored(server);
    const { url, state } = await begin(server, config, { ...WEB, state: `"><script>'&` });
    const page = await post(new Visitor(server.issuer), url, headers);
    t.equal(page.status, 200);
    t.same(page.headers.getSetCookie(), [], 'no new session replaces that of the browser');
    t.equal(await stored(server), before, 'nothing is stored');
    t.match(
      page.headers.get('content-security-policy'),
      /script-src 'sha256-[^ ]+'; .*form-action 'self' https:\/\/app\.example\.org;/,
    );
    t.match(page.text, /<script>document\.forms\[0\]\.submit\(\)<\/script>/);
    t.notMatch(page.text, /"><script>/);
    const again = await post(new Visitor(server.issuer), new URL(`${url}&continued=yes`), headers);
    t.notMatch(again.text, /<script>/, 'a page that has failed once waits for its button');
    t.equal(await stored(server), before);
    const own = { 'sec-fetch-site': 'same-origin', origin: server.issuer };
    const plain = page.text.replace(/name="state" value="[^"]*"/, `name="state" value="${state}"`);
    const { url: end } = await first.visitor.submit({ ...page, text: plain }, {}, own);
    t.ok(new URL(end).searchParams.has('code'), `${JSON.stringify(headers)}: the user is signed in: ${end}`);
  }
});

t.test('a form of another site signs a user out only after a confirmation', async (t) => {
  const server = await authorizationServer(t);
  const { config } = await registerWeb(server);
  const flow = await begin(server, config, WEB);
  const { url } = await consent(flow, server.user);
  const tokens = await client.authorizationCodeGrant(config, new URL(url), {
    pkceCodeVerifier: flow.verifier,
    expectedState: flow.state,
  });
  const end = client.buildEndSessionUrl(config, {
    id_token_hint: tokens.id_token!,
    post_logout_redirect_uri: RETURN,
    state: 'x y',
  });
  const { visitor } = flow;
  const before = await stored(server);
  for (const headers of CROSS_SITE)
    for (const address of [end, new URL(`${end}&continued=yes`), new URL(`${end}&logout=yes&xsrf=x`)]) {
      const page = await post(new Visitor(server.issuer), address, headers);
      t.same(page.headers.getSetCookie(), []);
      t.equal(await stored(server), before, 'nothing is stored');
      const question = await visitor.submit(page, {}, { 'sec-fetch-site': 'same-origin' });
      t.match(question.text, /Do you want to sign out\?/);
      t.match((await visitor.open('/account')).text, /Signed in as/);
    }
  const question = await post(visitor, end);
  t.match(question.headers.get('content-security-policy'), /form-action 'self' http:\/\/127\.0\.0\.1:7777;/);
  t.equal((await visitor.submit(question, { logout: 'yes' })).url, `${RETURN}?state=x+y`);
  t.match((await visitor.open('/account')).text, /to your account/);
  await t.rejects(client.refreshTokenGrant(config, tokens.refresh_token!), {
    error: 'invalid_grant',
  } as never);
});

t.test('what a form must be', async (t) => {
  const origin = 'https://app.example.org';
  const server = await authorizationServer(t, { CORS_ORIGINS: origin });
  const { config } = await server.register();
  const { url } = await begin(server, config);
  const form = url.searchParams;
  const type = 'application/x-www-form-urlencoded';
  const changed = (name: string, value: string) => {
    const fields = new URLSearchParams(form);
    fields.append(name, value);
    return String(fields);
  };
  const other = new URLSearchParams(form);
  other.set('redirect_uri', 'https://evil.example/');
  const own = { 'sec-fetch-site': 'same-origin' };
  for (const [name, path, body, mediaType, headers, status, text] of [
    ['JSON', '/authorize', '{}', 'application/json', {}, 415, /x-www-form-urlencoded/],
    ['JSON', '/sign-out', '{}', 'application/json', {}, 415, /x-www-form-urlencoded/],
    ['a type with parameters', '/authorize', String(form), `${type}; charset=UTF-8`, {}, 303, /^/],
    ['a type in capitals', '/authorize', String(form), type.toUpperCase(), {}, 303, /^/],
    ['a repeated parameter', '/authorize', changed('client_id', 'x'), type, {}, 400, /client_id/],
    ['a long form', '/authorize', changed('x', 'x'.repeat(8192)), type, {}, 413, /8192/],
    ['a long form of another site', '/sign-out', `x=${'x'.repeat(8192)}`, type, { origin }, 413, /8192/],
    ['another address', '/authorize', String(other), type, own, 400, /redirect_uri/],
    ['another address, of another site', '/authorize', String(other), type, { origin }, 200, /evil/],
    ['no client', '/authorize', '', type, own, 400, /client_id/],
    ['no client, of another site', '/authorize', 'client_id=%00', type, { origin }, 200, /Continue/],
    ['no parameters', '/sign-out', '', undefined, {}, 200, /sign-out\/confirm/],
    ['an unknown token', '/sign-out', 'id_token_hint=x', type, {}, 400, /id_token_hint/],
  ] as const) {
    const response = await server.service.send('POST', path, {
      body,
      ...(mediaType === undefined ? {} : { type: mediaType }),
      headers,
    });
    t.match(response, { status, text }, `${path}: ${name}`);
    const policy = String(response.headers['content-security-policy']);
    t.notMatch(policy, /evil/, `${path}: ${name}`);
    if (status === 415) t.equal(response.headers['accept-post'], type);
  }
  const address = await server.service.send('POST', `/authorize?${form}`, { body: '', type });
  t.match(address, { status: 400, text: /client_id/ }, 'parameters in the address of a form do not count');
  for (const path of ['/authorize', '/sign-out']) {
    const { headers } = await server.service.send('OPTIONS', path, {
      headers: { origin, 'access-control-request-method': 'POST' },
    });
    t.match(headers.allow, /POST/);
    t.match(headers['access-control-allow-methods'], /POST/);
    t.equal(headers['access-control-allow-credentials'], undefined, 'no page of another origin has cookies');
  }
});

t.test('forms of another site in a browser', { skip: noBrowser }, async (t) => {
  const server = await authorizationServer(t);
  const { config } = await registerWeb(server);
  // A port is no part of a site, but a host is.
  const application = 'http://application.localhost:7777';
  const page = await openPage(t, server.issuer, {
    alsoRequests: [application, REDIRECT, RETURN, WEB.redirect_uri],
  });
  const page200 = { contentType: 'text/html', body: '<h1>The application</h1>' };
  for (const address of [WEB.redirect_uri, RETURN])
    await page.route(`${address}**`, (route) => route.fulfill(page200));
  const sendForm = async (url: URL) => {
    const { page: target, fields } = formOf(url);
    const inputs = Object.entries(fields).map(([name, value]) => `<input name="${name}" value="${value}">`);
    const body = `<form method="post" action="${target.url}">${inputs.join('')}<button>Go</button></form>`;
    await page.route(`${application}/`, (route) => route.fulfill({ contentType: 'text/html', body }), {
      times: 1,
    });
    await page.goto(`${application}/`);
    await page.getByRole('button', { name: 'Go' }).click();
  };
  const first = await begin(server, config, WEB);
  await sendForm(first.url);
  await page.getByLabel('Email').fill(server.user.email);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.getByText('The application').waitFor();
  const tokens = await client.authorizationCodeGrant(config, new URL(page.url()), {
    pkceCodeVerifier: first.verifier,
    expectedState: first.state,
  });
  await sendForm((await begin(server, config, WEB)).url);
  await page.getByText('The application').waitFor();
  t.ok(new URL(page.url()).searchParams.has('code'), 'the user is still signed in');
  const end = client.buildEndSessionUrl(config, {
    id_token_hint: tokens.id_token!,
    post_logout_redirect_uri: RETURN,
  });
  await sendForm(end);
  await page.getByText('Do you want to sign out?').waitFor();
  await page.goto('/account');
  await page.getByText('Signed in as').waitFor();
  await sendForm(end);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('The application').waitFor();
  t.equal(page.url(), RETURN);
  await page.goto('/account');
  await page.getByLabel('Password').waitFor();
});
