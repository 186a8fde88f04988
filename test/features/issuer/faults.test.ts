import * as client from 'openid-client';
import { prune } from '../../../src/db/maintenance.js';
import { ISSUER_PRUNES } from '../../../src/features/issuer/issuer-statements.js';
import { testProxy } from '../../support/proxy.js';
import { RETENTION, testDatabase } from '../../support/service.js';
import t from '../../support/test.js';
import { until } from '../../support/until.js';
import {
  application,
  authorizationServer,
  begin,
  consent,
  REDIRECT,
  signIn,
} from './authorization-server.js';

t.jobs = 2;

t.test('without the database every endpoint is 503; afterwards a code is redeemed once', async (t) => {
  const proxy = await testProxy(t, await testDatabase(t));
  const { server, id, config } = await application(t, {}, { DATABASE_URL: proxy.url });
  const flow = await begin(server, config);
  const { url } = await consent(flow, server.user);
  const waiting = await begin(server, config, {}, flow.visitor);
  const form = await waiting.open();
  const redeem = () =>
    server.post('/token', {
      ...{ grant_type: 'authorization_code', client_id: id, redirect_uri: REDIRECT },
      ...{ code: new URL(url).searchParams.get('code')!, code_verifier: flow.verifier },
    });
  proxy.cut();
  const refused = await until('the service notices', redeem, ({ status }) => status === 503);
  t.ok(Number(refused.headers.get('retry-after')) >= 1);
  t.notMatch(refused.text, /access_token|ECONN|select|postgres/);
  const pages = [
    waiting.open,
    () => flow.visitor.open('/account'),
    () => flow.visitor.open('/device'),
    () => flow.visitor.submit(form, { action: 'allow' }),
  ];
  for (const [index, open] of pages.entries()) {
    const page = await open();
    t.equal(page.status, 503, `page ${index}: ${page.url}`);
    t.ok(Number(page.headers.get('retry-after')) >= 1);
  }
  t.equal((await fetch(`${server.issuer}/jwks`)).status, 200, 'keys are published from memory');
  await proxy.restore();
  const issued = await until('the service recovers', redeem, ({ status }) => status !== 503);
  t.equal(issued.status, 200);
  t.equal((await redeem()).status, 400, 'the same code again');
});

t.test('expired records are deleted in batches, and those in use stay', async (t) => {
  const server = await authorizationServer(t);
  const { db } = server.service;
  const { config } = await server.register();
  const tokens = await signIn(server, config);
  await db.run(
    `insert into issuer_records (hash, model, payload, expires_at)
    select sha256(n::text::bytea), 'Interaction', '{}', now() - interval '2 hours'
    from generate_series(1, 2500) as n`,
    [],
  );
  const own = 'select count(*)::int as count from issuer_records where payload = $1';
  const count = async () => (await db.run(own, ['{}']))[0]!.count;
  t.equal(await count(), 2500);
  await prune(db, { ...RETENTION, prunes: ISSUER_PRUNES });
  t.equal(await count(), 0);
  t.ok((await client.refreshTokenGrant(config, tokens.refresh_token!)).access_token);
});
