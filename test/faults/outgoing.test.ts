import { LOOPBACK, makeWebhook, testTarget } from '../features/webhooks/target.js';
import { AUDIENCE, claims, json, sign, signingKey, testIssuer } from '../support/issuer.js';
import { freshService, type TestService } from '../support/service.js';
import t from '../support/test.js';
import { some } from '../support/thorough.js';
import { until } from '../support/until.js';
import { failingConnections, SYSTEM } from './failing-connections.js';

t.jobs = 1;

t.test('a webhook for whose connection the system has no resources is delivered later', async (t) => {
  // A persistent connection would be used again.
  const target = await testTarget(t, (_, response) => {
    response.setHeader('Connection', 'close');
    return 204;
  });
  const service = await freshService(t, LOOPBACK, { webhookRetries: Array(50).fill(1) });
  const fail = failingConnections(t, Number(new URL(target.url).port));
  const webhook = await makeWebhook(service, target.url);
  for (const [code, errno] of some(Object.entries(SYSTEM), 2)) {
    fail(errno);
    const { json: item } = await service.send('POST', '/items', { body: { name: code } });
    await until(
      `${code} is the error of an attempt`,
      async () => (await service.send('GET', `/webhooks/${webhook.id}/deliveries?status=pending`)).text,
      (text) => text.includes(`"${code}"`),
    );
    fail(0);
    await until('it arrives', () => target.received.some(({ body }) => body.includes(item.id)));
  }
});

t.test('an issuer for whose connection the system has no resources receives the next request', async (t) => {
  const key = await signingKey('es');
  const issuer = await testIssuer(t, key);
  issuer.paths.set('/introspect', json({ active: true, sub: 'ada', scope: 'items:read', aud: AUDIENCE }));
  // A persistent connection would be used again.
  for (const [path, respond] of issuer.paths)
    issuer.paths.set(path, (request, response) =>
      respond(request, response.setHeader('Connection', 'close')),
    );
  const env = { AUTH: 'bearer', AUTH_FAILURES: '0', AUDIENCE };
  const introspecting = await freshService(t, { ...env, INTROSPECTION: `${issuer.url}/introspect` });
  const jwt = await sign(key, claims(issuer.url));
  const fail = failingConnections(t, Number(new URL(issuer.url).port));
  for (const [code, errno] of some(Object.entries(SYSTEM), 2)) {
    // A service reads the keys when it starts.
    fail(errno);
    const sources: [TestService, token: string][] = [
      [introspecting, `opaque-${code}`],
      [await freshService(t, { ...env, ISSUER: issuer.url }), jwt],
    ];
    for (const [{ send }, token] of sources) {
      const status = async () =>
        (await send('GET', '/items', { headers: { authorization: `Bearer ${token}` } })).status;
      fail(errno);
      t.equal(await status(), 503, code);
      fail(0);
      await until('the next request succeeds', status, (seen) => seen === 200);
    }
  }
});
