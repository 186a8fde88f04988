import * as client from 'openid-client';
import { createClient } from '../../../src/features/issuer/clients.js';
import { byPassword } from '../../support/credentials.js';
import { mockLimits } from '../../support/pause.js';
import t from '../../support/test.js';
import { until, untilAtLeast } from '../../support/until.js';
import { application, authorizationServer, CLIENT, MACHINE, signIn } from './authorization-server.js';
import { Visitor } from './visitor.js';

t.jobs = 3;

// No wait of the limit ends, however long the guesses take.
mockLimits(t);

const FAILURES = 3;
const GUESSES = 30;
const CREDENTIALS = { grant_type: 'client_credentials' };

for (const path of ['/token', '/introspect', '/revoke', '/par', '/device'])
  t.test(`concurrent guesses learn no more than sequential ones: ${path}`, async (t) => {
    const env = { AUTH_FAILURES: String(FAILURES), SIGN_INS_PER_ADDRESS: '0' };
    const { id, ...server } = await application(t, { type: 'confidential' }, env);
    const visitor = new Visitor(server.issuer);
    const form = path === '/device' ? await visitor.open(path) : undefined;
    const guess = (n: number) =>
      form
        ? visitor.submit(form, { user_code: `BCDF-BCD${'BCDFGHJKLM'[n % 10]}` })
        : server.post(path, { token: 'x', ...CREDENTIALS }, byPassword(id, `wrong ${n}`));
    const results = await Promise.all(Array.from({ length: GUESSES }, (_, n) => guess(n)));
    const responses = results.filter(({ status }) => status !== 429);
    t.ok(responses.length <= FAILURES, `${responses.length} of ${GUESSES} guesses had a response`);
    t.ok(responses.every(({ status }) => status === (form ? 422 : 401)));
    for (const { status, headers } of results)
      if (status === 429) t.ok(Number(headers.get('retry-after')) >= 1);
  });

t.test('a refresh with the right secret is not lost when others reach the limit meanwhile', async (t) => {
  const redirect = 'https://app.example.org/callback';
  const env = { AUTH_FAILURES: String(FAILURES) };
  const { server, id, config, service } = await application(
    t,
    { type: 'confidential', redirect_uris: [redirect] },
    env,
  );
  const tokens = await signIn(server, config, { redirect_uri: redirect });
  const guess = async () => (await server.post('/token', CREDENTIALS, byPassword(id, 'wrong'))).status;
  // A guess must not wait behind the refresh on the only connection.
  const sessions = 'select count(*)::int as n from pg_stat_activity where datname = current_database()';
  await until(
    'statements have several connections',
    async () => {
      const rows = await Promise.all(Array.from({ length: 8 }, () => service.db.run(sessions, [])));
      return Number(rows[0]![0]!.n);
    },
    (count) => count >= 6,
  );
  let refresh: ReturnType<typeof client.refreshTokenGrant> | undefined;
  await service.db.transaction(async (run) => {
    await run("select from issuer_records where model = 'RefreshToken' for update", []);
    refresh = client.refreshTokenGrant(config, tokens.refresh_token!);
    refresh.catch(() => undefined);
    const waiting =
      "select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
    await untilAtLeast('the refresh waits at the end of its work', () => run(waiting, []), 1);
    for (let n = 0; n < FAILURES; n++) t.equal(await guess(), 401);
    t.equal(await guess(), 429);
  });
  const renewed = await refresh!;
  t.ok(renewed.access_token, 'the response arrives');
  t.ok(renewed.refresh_token !== tokens.refresh_token);
});

t.test('only the client of a refresh token introspects it', async (t) => {
  const { server, config } = await application(t);
  const opaque = await server.register({ token_format: 'opaque' });
  const api = await server.register(MACHINE);
  for (const own of [config, opaque.config]) {
    const { access_token: access, refresh_token: refresh } = await signIn(server, own);
    t.same(await client.tokenIntrospection(api.config, refresh!), { active: false });
    t.match(await client.tokenIntrospection(own, refresh!), { active: true });
    t.match(await client.tokenIntrospection(api.config, access), { active: true, sub: server.user.id });
    const other = await server.register();
    const byPublic = await server.post('/introspect', { token: access, client_id: other.id });
    t.notMatch(byPublic.json, { active: true }, 'a public client, which anyone can claim to be');
  }
});

t.test('over https, other hosts cannot set the cookies', async (t) => {
  const { service } = await authorizationServer(t, { PUBLIC_URL: 'https://login.example.org' });
  const redirect = 'https://app.example.org/callback';
  const fields = { ...CLIENT, redirect_uris: [redirect] };
  const { item: stored } = await createClient(service.db, fields);
  const parameters = new URLSearchParams({
    client_id: stored.id,
    response_type: 'code',
    redirect_uri: redirect,
    scope: 'openid self',
    code_challenge: 'x'.repeat(43),
    code_challenge_method: 'S256',
  });
  const names = new Set<string>();
  for (const path of ['/device', `/authorize?${parameters}`]) {
    const { headers } = await service.send('GET', path, { headers: { accept: 'text/html' } });
    for (const cookie of [headers['set-cookie']].flat().map(String)) {
      names.add(cookie.slice(0, cookie.indexOf('=')));
      t.match(cookie, /; secure/i);
      t.notMatch(cookie, /domain=/i);
      if (cookie.startsWith('__Host-')) t.match(cookie, /; path=\/;/i);
    }
  }
  const expected = ['__Host-plinth_session', '__Secure-plinth_interaction', '__Secure-plinth_resume'];
  t.same([...names].sort(), expected.flatMap((name) => [name, `${name}.sig`]).sort());
});
