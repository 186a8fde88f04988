import * as client from 'openid-client';
import { makeKey } from '../../support/credentials.js';
import { testService } from '../../support/service.js';
import t from '../../support/test.js';
import {
  type AuthorizationServer,
  authorizationServer,
  begin,
  consent,
  PASSWORD,
  signIn,
} from './authorization-server.js';
import type { Page } from './visitor.js';

t.jobs = 3;

const NEXT = 'another long passphrase of mine';
const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code';

/** The token of a client that the user allows a moment before. */
const FLOWS: Readonly<Record<string, (server: AuthorizationServer) => Promise<string>>> = {
  code: async (server) => (await signIn(server, (await server.register()).config)).access_token,
  'opaque token': async (server) =>
    (await signIn(server, (await server.register({ token_format: 'opaque' })).config)).access_token,
  refresh: async (server) => {
    const { config } = await server.register();
    const { refresh_token: refresh } = await signIn(server, config);
    return (await client.refreshTokenGrant(config, refresh!)).access_token;
  },
  device: async (server) => {
    const { config } = await server.register({ grant_types: [DEVICE], redirect_uris: [] });
    const device = await client.initiateDeviceAuthorization(config, { scope: 'openid self' });
    const { visitor } = await begin(server, (await server.register()).config);
    let page: Page = await visitor.open(device.verification_uri);
    page = await visitor.submit(page, { user_code: device.user_code });
    page = await visitor.submit(page, {});
    page = await visitor.submit(page, { email: server.user.email, password: PASSWORD, action: 'sign-in' });
    await visitor.submit(page, { action: 'allow' });
    return (await client.pollDeviceAuthorizationGrant(config, { ...device, interval: 0.05 })).access_token;
  },
};

for (const [name, tokenBy] of Object.entries(FLOWS))
  t.test(`an application cannot take the account over: ${name}`, async (t) => {
    const server = await authorizationServer(t);
    const { send } = server.service;
    const headers = { authorization: `Bearer ${await tokenBy(server)}` };
    const path = `/users/${server.user.id}`;
    const record = { email: server.user.email, name: 'Ann' };
    for (const body of [
      { password: NEXT },
      { email: 'mallory@example.org' },
      { password: NEXT, ...record },
    ]) {
      const code = 'CURRENT_PASSWORD_REQUIRED';
      t.match(await send('PATCH', path, { headers, body }), { status: 403, json: { error: { code } } });
      const batch = [{ method: 'PATCH', path, body }];
      t.equal((await send('POST', '/batch', { headers, body: batch })).json.error.code, code);
    }
    const removal = await send('DELETE', path, { headers });
    t.match(removal, { status: 403, json: { error: { details: { scope: 'self:delete' } } } });
    t.match(removal.headers['www-authenticate'], /scope="self:delete"/);
    t.match(await send('PATCH', path, { headers, body: { ...record, note: 'mine' } }), { status: 200 });
  });

t.test('the deletion of the account is a consent of its own, and the page names each scope', async (t) => {
  const server = await authorizationServer(t);
  const { config } = await server.register({ scopes: ['self', 'self:delete'] });
  const self = await begin(server, config, { scope: 'openid self' });
  let page = await self.visitor.open(String(self.url));
  page = await self.visitor.submit(page, {
    email: server.user.email,
    password: PASSWORD,
    action: 'sign-in',
  });
  t.match(
    page.text,
    /read your account, and read, change and delete your own records, but not change your email or password, or delete your account/,
  );
  t.notMatch(page.text, /delete your account with all your records/);
  const both = await begin(server, config, { scope: 'openid self self:delete' }, self.visitor);
  page = await self.visitor.open(String(both.url));
  t.match(page.text, /delete your account with all your records/);
  page = await consent(both, server.user);
  const tokens = await client.authorizationCodeGrant(config, new URL(page.url), {
    pkceCodeVerifier: both.verifier,
    expectedState: both.state,
  });
  const { send } = server.service;
  const headers = { authorization: `Bearer ${tokens.access_token}` };
  t.equal((await send('DELETE', `/users/${server.user.id}`, { headers })).status, 204);
});

t.test('names that every object inherits are no scopes', async (t) => {
  const server = await authorizationServer(t);
  const { config } = await server.register();
  const open = await testService(t, {
    DATABASE_URL: server.service.databaseUrl,
    AUTH_SERVER: 'on',
    AUTH: 'bearer, api-key',
    PUBLIC_URL: server.issuer,
  });
  const headers = { 'x-api-key': (await makeKey(open.db)).key };
  for (const scope of ['constructor', 'toString', '__proto__', 'hasOwnProperty']) {
    const body = { name: 'x', grant_types: ['device_code'], scopes: [scope] };
    const refused = await open.send('POST', '/oauth-clients', { headers, body });
    t.match(refused, { status: 400, json: { errors: [{ path: '/scopes/0' }] } }, scope);
    const flow = await begin(server, config, { scope });
    t.match((await flow.visitor.open(String(flow.url))).url, /error=invalid_scope/, scope);
  }
});
