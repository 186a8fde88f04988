import * as client from 'openid-client';
import { createClient } from '../../../src/features/issuer/clients.js';
import { mockLimits } from '../../support/pause.js';
import t from '../../support/test.js';
import { until, untilAtLeast } from '../../support/until.js';
import { authorizationServer, begin, consent, signIn } from './authorization-server.js';
import { Visitor } from './visitor.js';

t.jobs = 3;

// No wait of the limit ends, however long the guesses take.
mockLimits(t);

const FAILURES = 3;
const GUESSES = 30;

for (const path of ['/token', '/introspect', '/revoke', '/par', '/device'])
  t.test(`concurrent guesses learn no more than sequential ones: ${path}`, async (t) => {
    const server = await authorizationServer(t, {
      AUTH_FAILURES: String(FAILURES),
      SIGN_INS_PER_ADDRESS: '0',
    });
    const { id } = await server.register({ type: 'confidential' });
    const guess = async (n: number) => {
      const authorization = `Basic ${Buffer.from(`${id}:wrong ${n}`).toString('base64')}`;
      const body = new URLSearchParams({ token: 'x', grant_type: 'client_credentials' });
      const response = await fetch(server.issuer + path, {
        method: 'POST',
        headers: { authorization },
        body,
      });
      return { status: response.status, wait: response.headers.get('retry-after') };
    };
    const visitor = new Visitor(server.issuer);
    const form = path === '/device' ? await visitor.open(path) : undefined;
    const enter = async (n: number) => {
      const { status, headers } = await visitor.submit(form!, {
        user_code: `BCDF-BCD${'BCDFGHJKLM'[n % 10]}`,
      });
      return { status, wait: headers.get('retry-after') };
    };
    const numbers = Array.from({ length: GUESSES }, (_, n) => n);
    const results = await Promise.all(numbers.map(form ? enter : guess));
    const responses = results.filter(({ status }) => status !== 429);
    t.ok(responses.length <= FAILURES, `${responses.length} of ${GUESSES} guesses had a response`);
    t.ok(responses.every(({ status }) => status === (form ? 422 : 401)));
    t.ok(results.every(({ status, wait }) => status !== 429 || Number(wait) >= 1));
  });

t.test('a refresh with the right secret is not lost when others reach the limit meanwhile', async (t) => {
  const { service, user, issuer, ...server } = await authorizationServer(t, {
    AUTH_FAILURES: String(FAILURES),
  });
  const redirect = 'https://app.example.org/callback';
  const { id, config } = await server.register({
    type: 'confidential',
    redirect_uris: [redirect],
  });
  const all = { service, user, issuer, ...server };
  const tokens = await signIn(all, config, { redirect_uri: redirect });
  const guess = async () => {
    const authorization = `Basic ${Buffer.from(`${id}:wrong`).toString('base64')}`;
    const body = new URLSearchParams({ grant_type: 'client_credentials' });
    return (await fetch(`${issuer}/token`, { method: 'POST', headers: { authorization }, body })).status;
  };
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
  const server = await authorizationServer(t);
  const { config } = await server.register();
  const opaque = await server.register({ token_format: 'opaque' });
  const api = await server.register({
    type: 'confidential',
    redirect_uris: [],
    grant_types: ['client_credentials'],
  });
  for (const own of [config, opaque.config]) {
    const { access_token: access, refresh_token: refresh } = await signIn(server, own);
    t.same(await client.tokenIntrospection(api.config, refresh!), { active: false });
    t.match(await client.tokenIntrospection(own, refresh!), { active: true });
    t.match(await client.tokenIntrospection(api.config, access), { active: true, sub: server.user.id });
  }
});

t.test('every page has a policy, also those that oidc-provider writes itself', async (t) => {
  const server = await authorizationServer(t);
  const { config } = await server.register();
  const visitor = new Visitor(server.issuer);
  const flow = await begin(server, config, { response_mode: 'form_post' }, visitor);
  const refused = new URL(flow.url);
  refused.searchParams.set('response_type', 'token');
  const pages = {
    'a device with its code': await visitor.open('/device?user_code=BCDF-BCDF'),
    'no session to end': await visitor.open('/sign-out'),
    'an error in a form': await visitor.open(String(refused)),
    'a code in a form': await consent(flow, server.user),
  };
  for (const [name, { headers, text }] of Object.entries(pages)) {
    const policy = headers.get('content-security-policy') ?? '';
    t.match(
      policy,
      /^default-src 'none'; .*base-uri 'none'; form-action 'self'.*frame-ancestors 'none'$/,
      name,
    );
    t.notMatch(policy, /unsafe/, name);
    t.equal(headers.get('x-frame-options'), 'DENY', name);
    t.equal(headers.get('referrer-policy'), 'same-origin', name);
    if (text.includes('<script>')) t.match(policy, /script-src 'sha256-/, name);
  }
  t.match(pages['a code in a form'].text, /name="code"/);
  t.match(
    pages['a code in a form'].headers.get('content-security-policy'),
    /form-action 'self' http:\/\/127\.0\.0\.1:7777;/,
  );
});

t.test('over https, other hosts cannot set the cookies', async (t) => {
  const { service } = await authorizationServer(t, { PUBLIC_URL: 'https://login.example.org' });
  const redirect = 'https://app.example.org/callback';
  const { item: stored } = await createClient(service.db, {
    name: 'Web',
    type: 'public',
    grant_types: ['authorization_code'],
    redirect_uris: [redirect],
    post_logout_redirect_uris: [],
    scopes: ['self'],
    token_format: 'jwt',
    first_party: false,
    id_token_signed_response_alg: 'ES256',
  });
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
