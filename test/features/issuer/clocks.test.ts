import { mock } from 'node:test';
import * as client from 'openid-client';
import { shiftClock, shiftedDatabase } from '../../support/clock.js';
import t, { type Test } from '../../support/test.js';
import { application, begin, consent, INVALID_GRANT, signIn } from './authorization-server.js';

const JUMP_S = 600;

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
  const { server, config } = await application(t, {}, env);
  const flow = await begin(server, config);
  const { url } = await consent(flow, server.user);
  // The client's clock would refuse the ID token; it is not what is tested.
  return { server, config, redeem: () => flow.redeem(url) };
}

t.test('a code is expired after a jump forward, and gives one token after the jump back', async (t) => {
  const { redeem } = await codeOf(t);
  await jumped(JUMP_S, () => t.rejects(redeem(), INVALID_GRANT));
  t.ok((await redeem()).access_token);
  await t.rejects(redeem(), INVALID_GRANT);
});

t.test('a code is redeemed once, whichever way the clock jumps', async (t) => {
  const { redeem } = await codeOf(t);
  t.ok((await redeem()).access_token);
  for (const seconds of [-JUMP_S, JUMP_S]) await jumped(seconds, () => t.rejects(redeem(), INVALID_GRANT));
});

t.test('an access token expires with the clock, and its refresh token is used once', async (t) => {
  const { server, config } = await application(t);
  const first = await signIn(server, config);
  const { statusOf } = server;
  t.equal(await statusOf(first.access_token), 200);
  const second = await jumped(JUMP_S + 60, async () => {
    t.equal(await statusOf(first.access_token), 401, 'expired');
    return client.refreshTokenGrant(config, first.refresh_token!);
  });
  t.equal(await statusOf(second.access_token), 200, 'after the jump back');
  const { db } = server.service;
  await db.run("update issuer_records set consumed_at = consumed_at - interval '1 minute'", []);
  await t.rejects(client.refreshTokenGrant(config, first.refresh_token!), INVALID_GRANT, 'used');
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
    await t.rejects(redeem(), INVALID_GRANT, 'the code again');
    // The second use of a code ends what was issued for the first.
    if (tokens) await t.rejects(client.refreshTokenGrant(config, tokens.refresh_token!), INVALID_GRANT);
    const next = await signIn(server, config);
    t.equal(await server.statusOf(next.access_token), 200, 'a new flow works');
  });
