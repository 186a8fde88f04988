import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { type Request, type RequestHandler } from 'express';
import type { Page } from 'playwright-core';
import { createClient } from '../../src/features/issuer/clients.js';
import { authorizationServer } from '../features/issuer/authorization-server.js';
import { noBrowser, openPage } from '../support/chromium.js';
import { PASSWORD } from '../support/credentials.js';
import { foreign, foreignFile } from '../support/foreign.js';
import t, { type Test } from '../support/test.js';
import { until } from '../support/until.js';

interface OpenIdConnect {
  auth: (options: object) => RequestHandler;
}

/** The session that express-openid-connect adds to a request. */
interface Session {
  isAuthenticated: () => boolean;
  readonly user?: { readonly email: string };
}

/** A server that listens before its application knows the issuer, which must know the server's origin. */
async function applicationServer(t: Test): Promise<{ server: Server; origin: string }> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** The user signs in, and allows what the application requests. */
async function signIn(page: Page, email: string): Promise<void> {
  await page.fill('input[name="email"]', email);
  await page.fill('input[name="password"]', PASSWORD);
  await page.click('button[value="sign-in"]');
  await page.click('button[value="allow"]');
}

const SCRIPT = `
  const { authority, client_id } = window.settings;
  const { origin } = location;
  const manager = new oidc.UserManager({
    authority,
    client_id,
    redirect_uri: origin + '/callback',
    post_logout_redirect_uri: origin + '/signed-out',
    scope: 'openid email self',
    loadUserInfo: true,
    revokeTokensOnSignout: true,
  });
  const show = (text) => { document.querySelector('p').textContent = text; };
  const button = (name, act) => {
    const element = document.createElement('button');
    element.textContent = name;
    element.onclick = () => act().catch((error) => show('Failed: ' + error.message));
    document.body.append(element);
  };
  button('Sign in', () => manager.signinRedirect());
  button('Refresh', async () => show('Refreshed ' + (await manager.signinSilent()).profile.email));
  button('Sign out', () => manager.signoutRedirect());
  (async () => {
    if (location.pathname === '/callback') show('Hello ' + (await manager.signinRedirectCallback()).profile.email);
    if (location.pathname === '/signed-out') {
      await manager.signoutRedirectCallback();
      show((await manager.getUser()) === null ? 'Goodbye' : 'Still signed in');
    }
  })().catch((error) => show('Failed: ' + error.message));
`;

for (const idTokenAlgorithm of ['ES256', 'RS256'] as const)
  t.test(`oidc-client-ts, with its defaults: ${idTokenAlgorithm}`, { skip: noBrowser }, async (t) => {
    const { server, origin } = await applicationServer(t);
    const { issuer, user, register, service } = await authorizationServer(t, { CORS_ORIGINS: origin });
    const { id } = await register({
      redirect_uris: [`${origin}/callback`],
      post_logout_redirect_uris: [`${origin}/signed-out`],
      scopes: ['self'],
      id_token_signed_response_alg: idTokenAlgorithm,
    });
    const library = readFileSync(foreignFile('oidc-client-ts/dist/browser/oidc-client-ts.min.js'));
    const settings = JSON.stringify({ authority: issuer, client_id: id });
    const respond: RequestListener = (req, res) => {
      if (req.url === '/library.js') return void res.end(library);
      res.setHeader('Content-Type', 'text/html');
      res.end(
        `<!doctype html><p></p><script>window.settings = ${settings}</script><script src="/library.js"></script><script>${SCRIPT}</script>`,
      );
    };
    server.on('request', respond);
    const page = await openPage(t, origin, { alsoRequests: [issuer] });
    await page.goto('/');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await signIn(page, user.email);
    await page.getByText(`Hello ${user.email}`).waitFor();
    await page.getByRole('button', { name: 'Refresh' }).click();
    await page.getByText(`Refreshed ${user.email}`).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.click('button[name="logout"]');
    await page.getByText('Goodbye').waitFor();
    t.ok(page.url().startsWith(`${origin}/signed-out`));
    await until(
      'nothing that was issued is left',
      () =>
        service.db.run(
          "select from issuer_records where model in ('RefreshToken', 'Session') and user_id is not null",
          [],
        ),
      ({ length }) => length === 0,
    );
  });

t.test('express-openid-connect, with its default algorithm', { skip: noBrowser }, async (t) => {
  const { server, origin } = await applicationServer(t);
  const { issuer, user, service } = await authorizationServer(t);
  const { item: client, secret } = await createClient(service.db, {
    name: 'Web',
    type: 'confidential',
    grant_types: ['authorization_code', 'refresh_token'],
    redirect_uris: [`${origin}/callback`],
    post_logout_redirect_uris: [origin],
    scopes: ['self'],
    token_format: 'jwt',
    first_party: false,
    id_token_signed_response_alg: 'RS256',
  });
  const { default: openIdConnect } = await foreign<{ default: OpenIdConnect }>('express-openid-connect');
  const app = express();
  app.use(
    openIdConnect.auth({
      issuerBaseURL: issuer,
      baseURL: origin,
      clientID: client.id,
      clientSecret: secret!,
      secret: 'a secret of the application for its own cookies',
      authRequired: false,
      idpLogout: true,
      authorizationParams: { response_type: 'code', scope: 'openid email' },
    }),
  );
  app.get('/', (req: Request & { oidc?: Session }, res) => {
    res.send(`<p>${req.oidc!.isAuthenticated() ? `Hello ${String(req.oidc!.user!.email)}` : 'Nobody'}</p>`);
  });
  server.on('request', app);
  const page = await openPage(t, origin, { alsoRequests: [issuer] });
  await page.goto('/');
  await page.getByText('Nobody').waitFor();
  await page.goto('/login');
  await signIn(page, user.email);
  await page.getByText(`Hello ${user.email}`).waitFor();
  await page.goto('/logout');
  await page.click('button[name="logout"]');
  await page.getByText('Nobody').waitFor();
  t.equal(new URL(page.url()).origin, origin, 'the user is back');
  await page.goto('/login');
  await page.locator('input[name="password"]').waitFor();
  t.pass('the session has ended');
});
