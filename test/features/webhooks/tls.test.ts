import { once } from 'node:events';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { authority, withoutOpenssl } from '../../support/certificates.js';
import { replacing, startProcess, WITH_CONSTANTS } from '../../support/process.js';
import { send, testDatabase } from '../../support/service.js';
import t from '../../support/test.js';
import { until } from '../../support/until.js';

t.test('https targets are those of an authority that is known', { skip: withoutOpenssl }, async (t) => {
  const [known, unknown] = [authority(t), authority(t, 'other')];
  const targets = await Promise.all(
    [known, unknown].map(async (issuer) => {
      let received = 0;
      const { cert, key } = issuer.sign('target');
      const server = https.createServer({ cert, key }, (req, res) => {
        received++;
        req.resume();
        res.writeHead(204).end();
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      t.teardown(() => {
        server.closeAllConnections();
        server.close();
      });
      return {
        url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/`,
        received: () => received,
      };
    }),
  );
  const settings = {
    DATABASE_URL: await testDatabase(t),
    WEBHOOK_ALLOW: '127.0.0.0/8',
    NODE_EXTRA_CA_CERTS: known.certFile,
  };
  const constants = replacing({ webhookRetries: [0.01] });
  const service = startProcess(t, { ...settings, ...constants }, WITH_CONSTANTS);
  const base = await service.ready();
  const ends = targets.map(async ({ url }) => {
    const { json } = await send(base, 'POST', '/webhooks', { body: { url, types: ['*'] } });
    const { headers } = await send(base, 'POST', `/webhooks/${json.id}/test`);
    const shown = async () => (await send(base, 'GET', headers.location!)).json;
    return await until('it ends', shown, ({ status }) => status !== 'pending');
  });
  t.match(await Promise.all(ends), [
    { status: 'delivered', last_answer: { status: 204 } },
    { status: 'dead', tries: 2, last_answer: { status: null, error: /SIGNED|VERIFY|ISSUER/ } },
  ]);
  t.same(
    targets.map(({ received }) => received()),
    [1, 0],
  );
});
