import { decodeProtectedHeader } from 'jose';
import * as client from 'openid-client';
import { rotateKeys } from '../../../src/features/issuer/signing-keys.js';
import { follow } from '../../events/follow.js';
import { testService } from '../../support/service.js';
import t from '../../support/test.js';
import { until } from '../../support/until.js';
import { authorizationServer, begin, consent, signIn } from './authorization-server.js';

t.jobs = 3;

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

t.test('keys rotate in two processes, and no valid token is rejected', async (t) => {
  const first = await authorizationServer(t);
  const env = {
    AUTH: 'bearer',
    AUTH_SERVER: 'on',
    PUBLIC_URL: first.issuer,
    DATABASE_URL: first.service.databaseUrl,
  };
  const second = await testService(t, env);
  const { config } = await first.register();
  const old = await signIn(first, config);
  const accepted = async (token: string) => {
    const both = [first.service, second].map(({ send }) => send('GET', '/whoami', bearer(token)));
    return (await Promise.all(both)).every(({ status }) => status === 200);
  };
  t.ok(await accepted(old.access_token));
  await rotateKeys(first.service.db, undefined, 0);
  t.ok(await accepted(old.access_token), 'a token of the former key');
  let token = '';
  await until(
    'the new key signs',
    async () => {
      token = (await signIn(first, config)).access_token;
      t.ok(await accepted(token));
      return decodeProtectedHeader(token).kid;
    },
    (seen) => seen !== decodeProtectedHeader(old.access_token).kid,
  );
  t.ok(await accepted(token), 'a token of the new key');
  t.ok(await accepted(old.access_token));
  await until('both publish both', async () => {
    const lists = await Promise.all([first.service, second].map(({ send }) => send('GET', '/jwks')));
    return lists.every(({ json }) => json.keys.length === 4);
  });
});

t.test('codes, tokens, sessions and consents survive a restart', async (t) => {
  const server = await authorizationServer(t);
  const { config } = await server.register();
  const tokens = await signIn(server, config);
  const flow = await begin(server, config);
  const page = await consent(flow, server.user);
  await server.service.stop();
  const { port } = new URL(server.issuer);
  const env = { AUTH: 'bearer', AUTH_SERVER: 'on', PORT: port, PUBLIC_URL: server.issuer };
  const { send } = await testService(t, { ...env, DATABASE_URL: server.service.databaseUrl });
  t.equal((await send('GET', '/whoami', bearer(tokens.access_token))).status, 200);
  const checks = { pkceCodeVerifier: flow.verifier, expectedState: flow.state };
  const issued = await client.authorizationCodeGrant(config, new URL(page.url), checks);
  t.equal((await send('GET', '/whoami', bearer(issued.access_token))).status, 200);
  t.ok((await client.refreshTokenGrant(config, tokens.refresh_token!)).access_token);
  const again = await begin(server, config, {}, flow.visitor);
  t.notMatch((await flow.visitor.open(String(again.url))).text, /name="password"/, 'the session');
});

t.test('the deletion of a user ends its event streams', async (t) => {
  const server = await authorizationServer(t);
  const { config } = await server.register();
  const { access_token: token } = await signIn(server, config);
  const stream = await follow(t, `${server.issuer}/events`, { authorization: `Bearer ${token}` });
  t.equal(stream.status, 200);
  await server.service.db.run('delete from public_collections.users where id = $1', [server.user.id]);
  await until('the stream ends', () => stream.isOver());
});
