import * as client from 'openid-client';
import { byKey, byToken, makeKey } from '../../support/credentials.js';
import t from '../../support/test.js';
import {
  type AuthorizationServer,
  application,
  authorizationServer,
  begin,
  connectDevice,
  consent,
  DEVICE,
  secondProcess,
  signIn,
} from './authorization-server.js';

t.jobs = 3;

const NEXT = 'another long passphrase of mine';

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
    const { config } = await server.register(DEVICE);
    return (await connectDevice(server, config)).tokens.access_token;
  },
};

for (const [name, tokenBy] of Object.entries(FLOWS))
  t.test(`an application cannot take the account over: ${name}`, async (t) => {
    const server = await authorizationServer(t);
    const { send } = server.service;
    const headers = { authorization: `Bearer ${await tokenBy(server)}` };
    const path = `/users/${server.user.id}`;
    const record = { email: server.user.email, name: 'Ann' };
    const changes = [{ password: NEXT }, { email: 'mallory@example.org' }, { password: NEXT, ...record }];
    for (const body of changes) {
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
  const { server, config } = await application(t, { scopes: ['self', 'self:delete'] });
  const self = await begin(server, config, { scope: 'openid self' });
  const own = await self.enter(server.user);
  t.match(
    own.text,
    /read your account, and read, change and delete your own records, but not change your email or password, or delete your account/,
  );
  t.notMatch(own.text, /delete your account with all your records/);
  const both = await begin(server, config, { scope: 'openid self self:delete' }, self.visitor);
  t.match((await both.open()).text, /delete your account with all your records/);
  const tokens = await both.redeem((await consent(both, server.user)).url);
  const { send } = server.service;
  const headers = byToken(tokens.access_token);
  t.equal((await send('DELETE', `/users/${server.user.id}`, { headers })).status, 204);
});

t.test('names that every object inherits are no scopes', async (t) => {
  const { server, config } = await application(t);
  const open = await secondProcess(t, server, { AUTH: 'bearer, api-key' });
  const headers = byKey((await makeKey(open.db)).key);
  for (const scope of ['constructor', 'toString', '__proto__', 'hasOwnProperty']) {
    const body = { name: 'x', grant_types: ['device_code'], scopes: [scope] };
    const refused = await open.send('POST', '/oauth-clients', { headers, body });
    t.match(refused, { status: 400, json: { errors: [{ path: '/scopes/0' }] } }, scope);
    const flow = await begin(server, config, { scope });
    t.match((await flow.open()).url, /error=invalid_scope/, scope);
  }
});
