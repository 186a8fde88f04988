import * as client from 'openid-client';
import { pause } from '../../support/pause.js';
import { startProcess } from '../../support/process.js';
import t, { type Test } from '../../support/test.js';
import { some } from '../../support/thorough.js';
import { authorizationServer, consent, PASSWORD, REDIRECT } from './authorization-server.js';
import { Visitor } from './visitor.js';

/** An authorization server in a process of its own, which can be killed and started again at the same address. */
async function crashing(t: Test) {
  const seed = await authorizationServer(t);
  const { id, config } = await seed.register();
  const { issuer, user, service } = seed;
  await service.stop();
  const env = {
    AUTH: 'bearer',
    AUTH_SERVER: 'on',
    PUBLIC_URL: issuer,
    PORT: new URL(issuer).port,
    DATABASE_URL: service.databaseUrl,
  };
  const start = async () => {
    const started = startProcess(t, env);
    await started.ready();
    return started;
  };
  let running = await start();
  const kill = () => process.kill(running.child.pid!, 'SIGKILL');
  const restart = async () => {
    await running.ended;
    running = await start();
  };
  const crash = () => {
    kill();
    return restart();
  };
  return { issuer, user, id, config, crash, kill, restart };
}

const refused = (error: string) => ({ error }) as never;

t.test('a flow goes on after kill -9 between any two of its steps', async (t) => {
  const { issuer, user, config, crash } = await crashing(t);
  const verifier = client.randomPKCECodeVerifier();
  const state = client.randomState();
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri: REDIRECT,
    scope: 'openid self offline_access',
    prompt: 'consent',
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
  });
  const visitor = new Visitor(issuer);
  let page = await visitor.open(String(url));
  t.match(page.text, /name="password"/);
  await crash();
  page = await visitor.submit(page, { email: user.email, password: PASSWORD, action: 'sign-in' });
  t.match(page.text, /value="allow"/, 'signed in');
  await crash();
  page = await visitor.submit(page, { action: 'allow' });
  t.ok(page.url.startsWith(REDIRECT), 'allowed');
  await crash();
  const checks = { pkceCodeVerifier: verifier, expectedState: state };
  const tokens = await client.authorizationCodeGrant(config, new URL(page.url), checks);
  await crash();
  const next = await client.refreshTokenGrant(config, tokens.refresh_token!);
  const whoami = await fetch(`${issuer}/whoami`, {
    headers: { authorization: `Bearer ${next.access_token}` },
  });
  t.equal(whoami.status, 200);
  await crash();
  await t.rejects(
    client.authorizationCodeGrant(config, new URL(page.url), checks),
    refused('invalid_grant'),
    'the code, again',
  );
  await t.rejects(client.refreshTokenGrant(config, next.refresh_token!), refused('invalid_grant'));
});

t.test('kill -9 during POST /token: a code gives at most one token', async (t) => {
  const { issuer, user, id, config, kill, restart } = await crashing(t);
  for (const delay of some([0, 2, 5, 9], 1)) {
    const verifier = client.randomPKCECodeVerifier();
    const url = client.buildAuthorizationUrl(config, {
      redirect_uri: REDIRECT,
      scope: 'openid self',
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    const { url: returned } = await consent({ visitor: new Visitor(issuer), url }, user);
    const body = new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: id,
      redirect_uri: REDIRECT,
      code: new URL(returned).searchParams.get('code')!,
      code_verifier: verifier,
    });
    const redeem = async () => (await fetch(`${issuer}/token`, { method: 'POST', body })).status;
    const first = redeem().catch(() => 0);
    // The kill may come at any moment of the request, so there is no state to wait for.
    await pause(delay);
    kill();
    await restart();
    const statuses = [await first, await redeem(), await redeem()];
    t.ok(statuses.filter((status) => status === 200).length <= 1, `after ${delay} ms: ${statuses}`);
    t.equal(statuses[2], 400, 'it is used up');
  }
});
