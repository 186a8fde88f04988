import { decodeProtectedHeader } from 'jose';
import * as client from 'openid-client';
import { rotateKeys } from '../../../src/features/issuer/signing-keys.js';
import { byToken } from '../../support/credentials.js';
import t from '../../support/test.js';
import { until } from '../../support/until.js';
import {
  application,
  authorizationServer,
  begin,
  consent,
  secondProcess,
  signIn,
} from './authorization-server.js';

t.jobs = 3;

const bearer = (token: string) => ({ headers: byToken(token) });

t.test('keys rotate in two processes, and no valid token is rejected', async (t) => {
  const first = await authorizationServer(t);
  const second = await secondProcess(t, first);
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
  const { server, config } = await application(t);
  const tokens = await signIn(server, config);
  const flow = await begin(server, config);
  const page = await consent(flow, server.user);
  await server.service.stop();
  await secondProcess(t, server, { PORT: new URL(server.issuer).port });
  t.equal(await server.statusOf(tokens.access_token), 200);
  const issued = await flow.redeem(page.url);
  t.equal(await server.statusOf(issued.access_token), 200);
  t.ok((await client.refreshTokenGrant(config, tokens.refresh_token!)).access_token);
  const again = await begin(server, config, {}, flow.visitor);
  t.notMatch((await again.open()).text, /name="password"/, 'the session');
});
