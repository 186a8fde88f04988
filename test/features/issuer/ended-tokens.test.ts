import { mock } from 'node:test';
import * as client from 'openid-client';
import { recordHash } from '../../../src/features/issuer/own-tokens.js';
import { mockLimits } from '../../support/pause.js';
import t, { type Test } from '../../support/test.js';
import { application, signIn } from './authorization-server.js';

// No wait of the limit ends, however long the requests take.
mockLimits(t);

const FAILURES = 3;
const REQUESTS = 12;

/** An authorization server that permits few failures, and the statuses of many requests at once with a token. */
async function limited(t: Test, tokenFormat: 'jwt' | 'opaque') {
  const server = await application(t, { token_format: tokenFormat }, { AUTH_FAILURES: String(FAILURES) });
  const manyOf = (token: string) =>
    Promise.all(Array.from({ length: REQUESTS }, () => server.statusOf(token)));
  return { ...server, manyOf };
}

const all = (status: number) => Array.from({ length: REQUESTS }, () => status);

t.test('requests with a JWT that has expired or was revoked are no guesses', async (t) => {
  const server = await limited(t, 'jwt');
  const { config, statusOf, manyOf } = server;
  const [first, second] = [await signIn(server, config), await signIn(server, config)];
  mock.timers.enable({ apis: ['Date'], now: Date.now() + 700_000 });
  try {
    t.same(await manyOf(first.access_token), all(401), 'expired');
  } finally {
    mock.timers.reset();
  }
  const renewed = await client.refreshTokenGrant(config, first.refresh_token!);
  t.equal(await statusOf(renewed.access_token), 200);
  await client.tokenRevocation(config, second.access_token);
  t.same(await manyOf(second.access_token), all(401), 'revoked');
  t.equal(await statusOf(renewed.access_token), 200);
  const forged = renewed.access_token.replace(/[^.]+$/, 'A'.repeat(86));
  const statuses = await manyOf(forged);
  t.equal(statuses.filter((status) => status === 401).length <= FAILURES, true, 'a forged one is a guess');
  t.equal(await statusOf(renewed.access_token), 429);
});

t.test('requests with an opaque token that has expired are no guesses', async (t) => {
  const server = await limited(t, 'opaque');
  const { config, service, statusOf, manyOf } = server;
  const tokens = await signIn(server, config);
  await service.db.run(
    "update issuer_records set expires_at = now() - interval '1 second' where hash = decode($1, 'base64')",
    [recordHash('AccessToken', tokens.access_token)],
  );
  t.same(await manyOf(tokens.access_token), all(401));
  const renewed = await client.refreshTokenGrant(config, tokens.refresh_token!);
  t.equal(await statusOf(renewed.access_token), 200);
  await manyOf('x'.repeat(43));
  t.equal(await statusOf(renewed.access_token), 429, 'an unknown one is a guess');
});
