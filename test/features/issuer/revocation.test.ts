import * as client from 'openid-client';
import { setUserScopes } from '../../../src/auth/user-scopes.js';
import { follow } from '../../events/follow.js';
import { byToken } from '../../support/credentials.js';
import { testProxy } from '../../support/proxy.js';
import { testDatabase } from '../../support/service.js';
import t from '../../support/test.js';
import { until } from '../../support/until.js';
import {
  application,
  authorizationServer,
  MACHINE,
  refusal,
  secondProcess,
  signIn,
} from './authorization-server.js';

t.jobs = 3;

const SCOPES = ['events:read', 'items:read'];
for (const tokenFormat of ['jwt', 'opaque'] as const)
  for (const holder of ['user', 'client'] as const)
    t.test(`revocation ends a token and its streams everywhere: ${tokenFormat} of a ${holder}`, async (t) => {
      const server = await authorizationServer(t);
      const { service, user } = server;
      const second = await secondProcess(t, server);
      await setUserScopes(service.db, user.id, SCOPES);
      const fields = { ...(holder === 'client' && MACHINE), scopes: SCOPES };
      const { config } = await server.register({ ...fields, token_format: tokenFormat });
      const issue = async () =>
        holder === 'client'
          ? (await client.clientCredentialsGrant(config, { scope: SCOPES.join(' ') })).access_token
          : (await signIn(server, config, { scope: `openid ${SCOPES.join(' ')}` })).access_token;
      const [token, other] = [await issue(), await issue()];
      const make = async (): Promise<string> =>
        (await service.send('POST', '/events/tickets', { headers: byToken(token) })).json._links.events.href;
      const [used, late] = [await make(), await make()];
      const streams = [
        await follow(t, `${service.url}/events?after=now`, byToken(token)),
        await follow(t, `${second.url}${used}&after=now`),
      ];
      for (const { status } of streams) t.equal(status, 200);
      const statuses = async (text: string) => {
        const request = { headers: byToken(text) };
        const both = [service, second].map(({ send }) => send('GET', '/whoami', request));
        return (await Promise.all(both)).map(({ status }) => status);
      };
      t.same(await statuses(token), [200, 200]);
      await client.tokenRevocation(config, token);
      t.match(await client.tokenIntrospection(config, token), { active: false });
      await until('both processes refuse it', async () => String(await statuses(token)), '401,401');
      await until('the streams end', () => streams.every(({ isOver }) => isOver()));
      const accept = { accept: 'text/event-stream' };
      t.equal((await second.send('GET', late, { headers: accept })).status, 403, 'an unused ticket');
      if (holder === 'client') t.same(await statuses(other), [200, 200], 'another token of the client stays');
      await client.tokenRevocation(config, token);
    });

t.test('200 without an effect: tokens that are not valid, and those of another client', async (t) => {
  const { server, id, config } = await application(t);
  const machine = await server.register(MACHINE);
  const { access_token: token, id_token: idToken = '' } = await signIn(server, config);
  const revoke = async (fields: Record<string, string>) => {
    const { status, text } = await server.post('/revoke', fields);
    return `${status} ${text}`;
  };
  const [header, claims] = token.split('.');
  for (const [what, text] of [
    ['a JWT without a valid signature', `${header}.${claims}.${'A'.repeat(86)}`],
    ['an ID token', idToken],
    ['a JWT of no issuer', `${header}.e30.`],
    ['an opaque token', 'x'.repeat(43)],
  ] as const)
    for (const hint of ['access_token', 'refresh_token', 'other'])
      t.equal(
        await revoke({ token: text, client_id: id, token_type_hint: hint }),
        '200 ',
        `${what}, ${hint}`,
      );
  const foreign = await server.register();
  t.equal(await revoke({ token, client_id: foreign.id }), '200 ', 'a public client');
  await t.rejects(client.tokenRevocation(machine.config, token), refusal('invalid_request'));
  t.match(await revoke({ token, client_id: 'unknown' }), /^401 /);
  t.match(await revoke({ token }), /^400 /);
  t.equal(await server.statusOf(token), 200, 'it is valid');
  t.equal(await revoke({ token, client_id: id, token_type_hint: 'refresh_token' }), '200 ');
  // The own client revokes it, whatever it says the token is.
  await server.ends(token);
});

t.test('without the database, a revocation is 503 and has not happened', async (t) => {
  const proxy = await testProxy(t, await testDatabase(t));
  const { server, id, config } = await application(t, {}, { DATABASE_URL: proxy.url });
  const { access_token: token } = await signIn(server, config);
  proxy.cut();
  for (const path of ['/revoke', '/introspect'])
    await until(
      `${path} is 503`,
      async () => (await server.post(path, { token, client_id: id })).status,
      503,
    );
  await proxy.restore();
  await until('the token is still valid', () => server.statusOf(token), 200);
});
