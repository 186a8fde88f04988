import * as client from 'openid-client';
import { testService } from '../../support/service.js';
import t from '../../support/test.js';
import { notInDefault } from '../../support/thorough.js';
import { authorizationServer, signIn } from './authorization-server.js';

t.jobs = 2;

interface Issued {
  readonly status: number;
  readonly json: Record<string, string>;
}

/** An authorization server in two processes, with a function that refreshes at either. */
async function twoProcesses(t: Parameters<typeof authorizationServer>[0]) {
  const server = await authorizationServer(t);
  const { issuer, service } = server;
  const second = await testService(t, {
    AUTH: 'bearer',
    AUTH_SERVER: 'on',
    PUBLIC_URL: issuer,
    DATABASE_URL: service.databaseUrl,
  });
  const { id, config } = await server.register();
  const refresh = async (token: string, at = 0, more: Record<string, string> = {}): Promise<Issued> => {
    const body = new URLSearchParams({
      grant_type: 'refresh_token',
      client_id: id,
      refresh_token: token,
      ...more,
    });
    const response = await fetch(`${[issuer, second.url][at % 2]}/token`, { method: 'POST', body });
    return { status: response.status, json: (await response.json()) as Record<string, string> };
  };
  /** Lets every first use of a token be a minute ago. */
  const age = () =>
    service.db.run("update issuer_records set consumed_at = consumed_at - interval '1 minute'", []);
  const families = async () =>
    (
      await service.db.run(
        "select from issuer_records where model = 'RefreshToken' and consumed_at is null",
        [],
      )
    ).length;
  return { ...server, config, refresh, age, families };
}

t.test('refreshes at once, in two processes, return one successor', { skip: notInDefault }, async (t) => {
  const server = await twoProcesses(t);
  const { config, refresh, families, service } = server;
  let { refresh_token: token = '' } = await signIn(server, config);
  for (let round = 0; round < 5; round++) {
    const issued = await Promise.all([0, 1, 2, 3].map((at) => refresh(token, at)));
    t.same(
      issued.map(({ status }) => status),
      [200, 200, 200, 200],
    );
    const successors = new Set(issued.map(({ json }) => json.refresh_token));
    t.equal(successors.size, 1, 'one successor');
    t.equal(await families(), 1, 'one token that was not used');
    for (const { json } of issued) {
      const headers = { authorization: `Bearer ${json.access_token}` };
      t.equal((await service.send('GET', '/whoami', { headers })).status, 200);
    }
    const [successor = ''] = successors;
    t.not(successor, token);
    token = successor;
  }
});

t.test('after the period, a reuse ends the family, also of a token whose successor was used', async (t) => {
  const server = await twoProcesses(t);
  const { config, refresh, age, families } = server;
  const { refresh_token: first = '' } = await signIn(server, config);
  const second = (await refresh(first)).json.refresh_token!;
  const third = (await refresh(second)).json.refresh_token!;
  t.equal((await refresh(first, 1)).json.refresh_token, second, 'within the period');
  t.equal(await families(), 1, 'the used successor stays used');
  await age();
  const renewed = await refresh(third);
  t.equal(renewed.status, 200);
  t.match(await refresh(first, 1), { status: 400, json: { error: 'invalid_grant' } });
  for (const token of [second, third, renewed.json.refresh_token!])
    t.match(await refresh(token), { status: 400, json: { error: 'invalid_grant' } });
});

t.test('the period is for the client that the token was issued to, and its key', async (t) => {
  const server = await twoProcesses(t);
  const { config, refresh, register } = server;
  const other = await register();
  const { refresh_token: token = '' } = await signIn(server, config);
  t.equal((await refresh(token)).status, 200);
  t.match(await refresh(token, 0, { client_id: other.id }), {
    status: 400,
    json: { error: 'invalid_grant' },
  });
  t.equal((await refresh(token, 1)).status, 200, 'the own client still may');
  await client.tokenRevocation(config, token);
  t.equal((await refresh(token)).status, 400, 'what was revoked is not used again');
});
