import * as client from 'openid-client';
import t, { type Test } from '../../support/test.js';
import { notInDefault } from '../../support/thorough.js';
import { application, postForm, secondProcess, signIn } from './authorization-server.js';

t.jobs = 2;

/** An authorization server in two processes, with a function that refreshes at either. */
async function twoProcesses(t: Test) {
  const { server, id, config, service } = await application(t);
  const second = await secondProcess(t, server);
  const refresh = (token: string, at = 0, more: Record<string, string> = {}) =>
    postForm(`${[server.issuer, second.url][at % 2]}/token`, {
      ...{ grant_type: 'refresh_token', client_id: id, refresh_token: token },
      ...more,
    });
  /** Lets every first use of a token be a minute ago. */
  const age = () =>
    service.db.run("update issuer_records set consumed_at = consumed_at - interval '1 minute'", []);
  const unused = "select from issuer_records where model = 'RefreshToken' and consumed_at is null";
  const families = async () => (await service.db.run(unused, [])).length;
  return { ...server, config, refresh, age, families };
}

const INVALID = { status: 400, json: { error: 'invalid_grant' } };

t.test('refreshes at once, in two processes, return one successor', { skip: notInDefault }, async (t) => {
  const server = await twoProcesses(t);
  const { config, refresh, families, statusOf } = server;
  let { refresh_token: token = '' } = await signIn(server, config);
  for (let round = 0; round < 5; round++) {
    const issued = await Promise.all([0, 1, 2, 3].map((at) => refresh(token, at)));
    for (const { status } of issued) t.equal(status, 200);
    const successors = new Set(issued.map(({ json }) => json.refresh_token));
    t.equal(successors.size, 1, 'one successor');
    t.equal(await families(), 1, 'one token that was not used');
    for (const { json } of issued) t.equal(await statusOf(json.access_token!), 200);
    const [successor = ''] = successors;
    t.not(successor, token);
    token = successor;
  }
});

t.test('after the period, a reuse ends the family, also of a token whose successor was used', async (t) => {
  const server = await twoProcesses(t);
  const { config, refresh, age, families, ends } = server;
  const { refresh_token: first = '' } = await signIn(server, config);
  const second = (await refresh(first)).json.refresh_token!;
  const third = (await refresh(second)).json.refresh_token!;
  t.equal((await refresh(first, 1)).json.refresh_token, second, 'within the period');
  t.equal(await families(), 1, 'the used successor stays used');
  await age();
  const renewed = await refresh(third);
  t.equal(renewed.status, 200);
  t.match(await refresh(first, 1), INVALID);
  for (const token of [second, third, renewed.json.refresh_token!]) t.match(await refresh(token), INVALID);
  await ends(renewed.json.access_token!);
});

t.test('the period is for the client that the token was issued to, and its key', async (t) => {
  const server = await twoProcesses(t);
  const { config, refresh, register } = server;
  const other = await register();
  const { refresh_token: token = '' } = await signIn(server, config);
  t.equal((await refresh(token)).status, 200);
  t.match(await refresh(token, 0, { client_id: other.id }), INVALID);
  t.equal((await refresh(token, 1)).status, 200, 'the own client still may');
  await client.tokenRevocation(config, token);
  t.equal((await refresh(token)).status, 400, 'what was revoked is not used again');
});
