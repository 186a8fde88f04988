import * as client from 'openid-client';
import { setUserScopes } from '../../../src/auth/user-scopes.js';
import { follow } from '../../events/follow.js';
import { testProxy } from '../../support/proxy.js';
import { testDatabase, testService } from '../../support/service.js';
import t, { type Test } from '../../support/test.js';
import { until } from '../../support/until.js';
import { type AuthorizationServer, authorizationServer, signIn } from './authorization-server.js';

t.jobs = 3;

const SCOPES = ['events:read', 'items:read'];
const MACHINE = {
  type: 'confidential',
  redirect_uris: [],
  grant_types: ['client_credentials'],
  scopes: SCOPES,
} as const;

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

async function secondProcess(t: Test, { service, issuer }: AuthorizationServer) {
  const env = { AUTH: 'bearer', AUTH_SERVER: 'on', PUBLIC_URL: issuer, DATABASE_URL: service.databaseUrl };
  return testService(t, env);
}

async function post(
  url: string,
  fields: Record<string, string>,
): Promise<{ status: number; text: string; type?: string }> {
  const response = await fetch(url, { method: 'POST', body: new URLSearchParams(fields) });
  const type = response.headers.get('content-type');
  return { status: response.status, text: await response.text(), ...(type?.startsWith('text/') && { type }) };
}

for (const tokenFormat of ['jwt', 'opaque'] as const)
  for (const holder of ['user', 'client'] as const)
    t.test(`revocation ends a token and its streams everywhere: ${tokenFormat} of a ${holder}`, async (t) => {
      const server = await authorizationServer(t);
      const { service, user } = server;
      const second = await secondProcess(t, server);
      await setUserScopes(service.db, user.id, SCOPES);
      const { config } = await server.register({
        ...(holder === 'client' ? { ...MACHINE, grant_types: [...MACHINE.grant_types] } : { scopes: SCOPES }),
        token_format: tokenFormat,
      });
      const issue = async () =>
        holder === 'client'
          ? (await client.clientCredentialsGrant(config, { scope: SCOPES.join(' ') })).access_token
          : (await signIn(server, config, { scope: `openid ${SCOPES.join(' ')}` })).access_token;
      const [token, other] = [await issue(), await issue()];
      const make = async (): Promise<string> =>
        (await service.send('POST', '/events/tickets', { headers: bearer(token) })).json._links.events.href;
      const [used, late] = [await make(), await make()];
      const streams = [
        await follow(t, `${service.url}/events?after=now`, bearer(token)),
        await follow(t, `${second.url}${used}&after=now`),
      ];
      t.same(
        streams.map(({ status }) => status),
        [200, 200],
      );
      const statuses = (text: string) =>
        Promise.all(
          [service, second].map(
            async ({ send }) => (await send('GET', '/whoami', { headers: bearer(text) })).status,
          ),
        );
      t.same(await statuses(token), [200, 200]);
      await client.tokenRevocation(config, token);
      t.match(await client.tokenIntrospection(config, token), { active: false });
      await until(
        'both processes refuse it',
        () => statuses(token),
        (seen) => seen.every((status) => status === 401),
      );
      await until('the streams end', () => streams.every(({ isOver }) => isOver()));
      const accept = { accept: 'text/event-stream' };
      t.equal((await second.send('GET', late, { headers: accept })).status, 403, 'an unused ticket');
      if (holder === 'client') t.same(await statuses(other), [200, 200], 'another token of the client stays');
      await client.tokenRevocation(config, token);
    });

t.test('200 without an effect: tokens that are not valid, and those of another client', async (t) => {
  const server = await authorizationServer(t);
  const { id, config } = await server.register();
  const machine = await server.register({ ...MACHINE, grant_types: [...MACHINE.grant_types] });
  const { access_token: token, id_token: idToken = '' } = await signIn(server, config);
  const at = `${server.issuer}/revoke`;
  const [header, claims] = token.split('.');
  for (const [what, text] of [
    ['a JWT without a valid signature', `${header}.${claims}.${'A'.repeat(86)}`],
    ['an ID token', idToken],
    ['a JWT of no issuer', `${header}.e30.`],
    ['an opaque token', 'x'.repeat(43)],
  ] as const)
    for (const hint of ['access_token', 'refresh_token', 'other'])
      t.same(
        await post(at, { token: text, client_id: id, token_type_hint: hint }),
        { status: 200, text: '' },
        `${what}, ${hint}`,
      );
  const foreign = await server.register();
  t.same(await post(at, { token, client_id: foreign.id }), { status: 200, text: '' }, 'a public client');
  await t.rejects(client.tokenRevocation(machine.config, token), { error: 'invalid_request' } as never);
  t.equal((await post(at, { token, client_id: 'unknown' })).status, 401);
  t.equal((await post(at, { token })).status, 400);
  t.equal(
    (await server.service.send('GET', '/whoami', { headers: bearer(token) })).status,
    200,
    'it is valid',
  );
  t.same(await post(at, { token, client_id: id, token_type_hint: 'refresh_token' }), {
    status: 200,
    text: '',
  });
  await until(
    'the own client revokes it, whatever it says the token is',
    async () => (await server.service.send('GET', '/whoami', { headers: bearer(token) })).status,
    401,
  );
});

t.test('without the database, a revocation is 503 and has not happened', async (t) => {
  const proxy = await testProxy(t, await testDatabase(t));
  const server = await authorizationServer(t, { DATABASE_URL: proxy.url });
  const { id, config } = await server.register();
  const { access_token: token } = await signIn(server, config);
  proxy.cut();
  for (const path of ['/revoke', '/introspect'])
    await until(
      `${path} is 503`,
      () => post(`${server.issuer}${path}`, { token, client_id: id }),
      ({ status }) => status === 503,
    );
  await proxy.restore();
  await until(
    'the token is still valid',
    async () => (await server.service.send('GET', '/whoami', { headers: bearer(token) })).status,
    200,
  );
});
