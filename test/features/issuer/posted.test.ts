import * as client from 'openid-client';
import { noBrowser, openPage } from '../../support/chromium.js';
import { PASSWORD } from '../../support/credentials.js';
import t from '../../support/test.js';
import {
  type AuthorizationServer,
  application,
  authorizationServer,
  begin,
  consent,
  type Flow,
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

const signInByPost = async ({ user }: AuthorizationServer, { visitor, url }: Flow): Promise<Page> =>
  visitor.submit(await visitor.enter(await post(visitor, url), user), { action: 'allow' });

const stored = async ({ service }: AuthorizationServer): Promise<number> =>
  (await service.db.run('select from issuer_records', [])).length;

t.test('an authorization request by POST leads to tokens', async (t) => {
  const { server, config } = await application(t);
  const flow = await begin(server, config);
  const { url } = await signInByPost(server, flow);
  const tokens = await flow.redeem(url);
  t.equal(tokens.claims()?.sub, server.user.id);
  const pushed = await begin(server, config);
  const parameters = Object.fromEntries(pushed.url.searchParams);
  const address = await client.buildAuthorizationUrlWithPAR(config, parameters);
  t.match((await post(flow.visitor, address)).text, /value="allow"/, 'a pushed request');
  const none = await begin(server, config, { prompt: 'none' });
  t.match((await post(new Visitor(server.issuer), none.url)).url, /error=login_required/);
});

t.test('a form of another site, which has no cookies, is repeated by GET, which has them', async (t) => {
  const server = await authorizationServer(t);
  const { config } = await registerWeb(server);
  const first = await begin(server, config, WEB);
  const { url } = await consent(first, server.user);
  const { id_token } = await first.redeem(url);
  const end = client.buildEndSessionUrl(config, {
    id_token_hint: id_token!,
    post_logout_redirect_uri: RETURN,
    state: 'x y',
  });
  const before = await stored(server);
  for (const headers of CROSS_SITE)
    for (const target of [(await begin(server, config, { ...WEB, state: `"><'& ü` })).url, end]) {
      const response = await server.service.send('POST', target.pathname, {
        ...{ headers, type: 'application/x-www-form-urlencoded', body: String(target.searchParams) },
      });
      t.equal(response.status, 303);
      t.equal(response.headers['set-cookie'], undefined, 'no new session replaces that of the browser');
      const expected = new URLSearchParams(target.searchParams);
      if (expected.has('id_token_hint')) {
        expected.delete('id_token_hint');
        expected.set('client_id', config.clientMetadata().client_id);
      }
      t.same(
        new URL(response.headers.location as string, server.issuer).searchParams.toString().split('&').sort(),
        String(expected).split('&').sort(),
        'no token in an address',
      );
      t.equal(await stored(server), before, 'nothing is stored');
    }
  const { visitor } = first;
  t.ok(new URL((await post(visitor, (await begin(server, config, WEB)).url)).url).searchParams.has('code'));
  const question = await post(visitor, end);
  t.match(question.text, /Do you want to sign out\?/);
  t.match((await visitor.open('/account')).text, /Signed in as/);
  t.equal((await visitor.submit(question, { logout: 'yes' })).url, `${RETURN}?state=x+y`);
  t.match((await visitor.open('/account')).text, /to your account/);
});

t.test('what a form must be', async (t) => {
  const origin = 'https://app.example.org';
  const { server, config } = await application(t, {}, { CORS_ORIGINS: origin });
  const { url } = await begin(server, config);
  const form = url.searchParams;
  const type = 'application/x-www-form-urlencoded';
  const changed = (name: string, value: string) => {
    const fields = new URLSearchParams(form);
    fields.append(name, value);
    return String(fields);
  };
  for (const [name, path, body, mediaType, headers, status, text] of [
    ['JSON', '/authorize', '{}', 'application/json', {}, 415, /x-www-form-urlencoded/],
    ['JSON', '/sign-out', '{}', 'application/json', {}, 415, /x-www-form-urlencoded/],
    ['a type with parameters', '/authorize', String(form), `${type}; charset=UTF-8`, {}, 303, /^/],
    ['a type in capitals', '/authorize', String(form), type.toUpperCase(), {}, 303, /^/],
    ['a repeated parameter', '/authorize', changed('client_id', 'x'), type, {}, 303, /^/],
    ['a long form', '/authorize', changed('x', 'x'.repeat(8192)), type, {}, 413, /8192/],
    ['a long form of another site', '/sign-out', `x=${'x'.repeat(8192)}`, type, { origin }, 413, /8192/],
    ['an ID token', '/authorize', changed('id_token_hint', 'x.y.z'), type, {}, 400, /use GET/],
    ['no ID token', '/sign-out', 'id_token_hint=x', type, {}, 400, /use GET/],
    ['no parameters', '/sign-out', '', undefined, {}, 303, /^/],
  ] as const) {
    const given = { body, headers, ...(mediaType !== undefined && { type: mediaType }) };
    const response = await server.service.send('POST', path, given);
    t.match(response, { status, text }, `${path}: ${name}`);
    if (status === 415) t.equal(response.headers['accept-post'], type);
  }
  const { headers } = await server.service.send('POST', `/authorize?${form}`, { body: '', type });
  t.equal(headers.location, '/authorize?', 'parameters in the address of a form do not count');
  for (const path of ['/authorize', '/sign-out']) {
    const preflight = { headers: { origin, 'access-control-request-method': 'POST' } };
    const { headers } = await server.service.send('OPTIONS', path, preflight);
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
    const form = { contentType: 'text/html', body };
    await page.route(`${application}/`, (route) => route.fulfill(form), { times: 1 });
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
