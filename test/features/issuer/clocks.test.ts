import { mock } from 'node:test';
import * as client from 'openid-client';
import { shiftClock, shiftedDatabase } from '../../support/clock.js';
import t, { type Test } from '../../support/test.js';
import { authorizationServer, begin, consent, signIn } from './authorization-server.js';

const JUMP_S = 600;

const refused = (error: string) => ({ error }) as never;
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

/** Runs the work while the clock of this process is that many seconds ahead of what it was. */
async function jumped<T>(seconds: number, work: () => Promise<T>): Promise<T> {
  mock.timers.enable({ apis: ['Date'], now: Date.now() + seconds * 1000 });
  try {
    return await work();
  } finally {
    mock.timers.reset();
  }
}

/** A user that has allowed access, with the function that redeems its code. */
async function codeOf(t: Test, env: Record<string, string> = {}) {
  const server = await authorizationServer(t, env);
  const { config } = await server.register();
  const flow = await begin(server, config);
  const { url } = await consent(flow, server.user);
  const checks = { pkceCodeVerifier: flow.verifier, expectedState: flow.state };
  // The client's clock would refuse the ID token; it is not what is tested.
  const redeem = () => client.authorizationCodeGrant(config, new URL(url), checks);
  return { server, config, redeem };
}

t.test('a code is expired after a jump forward, and gives one token after the jump back', async (t) => {
  const { redeem } = await codeOf(t);
  await jumped(JUMP_S, () => t.rejects(redeem(), refused('invalid_grant')));
  t.ok((await redeem()).access_token);
  await t.rejects(redeem(), refused('invalid_grant'));
});

t.test('a code is redeemed once, whichever way the clock jumps', async (t) => {
  const { redeem } = await codeOf(t);
  t.ok((await redeem()).access_token);
  for (const seconds of [-JUMP_S, JUMP_S])
    await jumped(seconds, () => t.rejects(redeem(), refused('invalid_grant')));
});

t.test('an access token expires with the clock, and its refresh token is used once', async (t) => {
  const server = await authorizationServer(t);
  const { config } = await server.register();
  const first = await signIn(server, config);
  const { send } = server.service;
  const statusOf = async (token: string) => (await send('GET', '/whoami', bearer(token))).status;
  t.equal(await statusOf(first.access_token), 200);
  const second = await jumped(JUMP_S + 60, async () => {
    t.equal(await statusOf(first.access_token), 401, 'expired');
    return client.refreshTokenGrant(config, first.refresh_token!);
  });
  t.equal(await statusOf(second.access_token), 200, 'after the jump back');
  await server.service.db.run(
    "update issuer_records set consumed_at = consumed_at - interval '1 minute'",
    [],
  );
  await t.rejects(client.refreshTokenGrant(config, first.refresh_token!), refused('invalid_grant'), 'used');
});

for (const seconds of [JUMP_S, -JUMP_S])
  t.test(`the clock of the database jumps by ${seconds} s within a flow: at most one token`, async (t) => {
    const databaseUrl = await shiftedDatabase(t, 0);
    const { server, config, redeem } = await codeOf(t, { DATABASE_URL: databaseUrl });
    await shiftClock(databaseUrl, seconds);
    const tokens = await redeem().catch((error: unknown) => {
      t.match(error, { error: 'invalid_grant' });
      return undefined;
    });
    await t.rejects(redeem(), refused('invalid_grant'), 'the code again');
    // The second use of a code ends what was issued for the first.
    if (tokens)
      await t.rejects(client.refreshTokenGrant(config, tokens.refresh_token!), refused('invalid_grant'));
    const next = await signIn(server, config);
    const { status } = await server.service.send('GET', '/whoami', bearer(next.access_token));
    t.equal(status, 200, 'a new flow works');
  });
