import * as client from 'openid-client';
import { byToken } from '../../support/credentials.js';
import { pause } from '../../support/pause.js';
import { startProcess } from '../../support/process.js';
import t, { type Test } from '../../support/test.js';
import { some } from '../../support/thorough.js';
import { application, begin, codeOf, INVALID_GRANT, REDIRECT } from './authorization-server.js';

/** An authorization server in a process of its own, which can be killed and started again at the same address. */
async function crashing(t: Test) {
  const { server, id, config, issuer, service } = await application(t);
  await service.stop();
  const settings = { AUTH: 'bearer', AUTH_SERVER: 'on', PUBLIC_URL: issuer, PORT: new URL(issuer).port };
  const env = { ...settings, DATABASE_URL: service.databaseUrl };
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
  return { server, id, config, crash, kill, restart };
}

t.test('a flow goes on after kill -9 between any two of its steps', async (t) => {
  const { server, config, crash } = await crashing(t);
  const flow = await begin(server, config);
  const { visitor } = flow;
  let page = await flow.open();
  t.match(page.text, /name="password"/);
  await crash();
  page = await visitor.enter(page, server.user);
  t.match(page.text, /value="allow"/, 'signed in');
  await crash();
  page = await visitor.submit(page, { action: 'allow' });
  t.ok(page.url.startsWith(REDIRECT), 'allowed');
  await crash();
  const tokens = await flow.redeem(page.url);
  await crash();
  const next = await client.refreshTokenGrant(config, tokens.refresh_token!);
  const { status } = await fetch(`${server.issuer}/whoami`, { headers: byToken(next.access_token) });
  t.equal(status, 200);
  await crash();
  await t.rejects(flow.redeem(page.url), INVALID_GRANT, 'the code, again');
  await t.rejects(client.refreshTokenGrant(config, next.refresh_token!), INVALID_GRANT);
});

t.test('kill -9 during POST /token: a code gives at most one token', async (t) => {
  const { server, id, config, kill, restart } = await crashing(t);
  for (const delay of some([0, 2, 5, 9], 1)) {
    const fields = await codeOf(server, id, config);
    const redeem = async () => (await server.post('/token', fields)).status;
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
