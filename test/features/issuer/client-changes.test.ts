import { calculateJwkThumbprint, createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import * as client from 'openid-client';
import { CLIENT_TABLE } from '../../../src/features/issuer/clients.js';
import { rotateKeys } from '../../../src/features/issuer/signing-keys.js';
import { plinth } from '../../support/command.js';
import { byKey, byToken, makeKey } from '../../support/credentials.js';
import t from '../../support/test.js';
import { until } from '../../support/until.js';
import { words } from '../../support/words.js';
import {
  application,
  authorizationServer,
  begin,
  consent,
  INVALID_GRANT,
  REDIRECT,
  signIn,
} from './authorization-server.js';
import { Visitor } from './visitor.js';

t.jobs = 3;

const BYE = 'https://app.example.org/bye';
const RETURN = 'http://127.0.0.1:7777/signed-out';
const EVIL = 'https://evil.example/';

t.test('after a sign-out users return to a registered address', async (t) => {
  const { server, config, id } = await application(t, {
    post_logout_redirect_uris: ['http://127.0.0.1/signed-out'],
  });
  const flow = await begin(server, config, { scope: 'openid self' });
  const { url } = await consent(flow, server.user);
  const tokens = await flow.redeem(url);
  for (const post_logout_redirect_uri of [`${RETURN}/other`, REDIRECT, EVIL]) {
    const url = client.buildEndSessionUrl(config, { post_logout_redirect_uri });
    const refused = await flow.visitor.open(String(url));
    t.equal(refused.status, 400, 'another address');
    t.notMatch(refused.text, /<a [^>]*href=/);
  }
  const stranger = new Visitor(server.issuer);
  const anonymous = await stranger.open(`/sign-out?post_logout_redirect_uri=${EVIL}`);
  t.notMatch(anonymous.text, /evil/, 'no client is known to have registered it');
  t.equal((await stranger.submit(anonymous, { logout: 'yes' })).url, `${server.issuer}/sign-out/success`);
  const end = client.buildEndSessionUrl(config, {
    id_token_hint: tokens.id_token!,
    post_logout_redirect_uri: RETURN,
    state: 'x y',
  });
  const page = await flow.visitor.open(String(end));
  const policy = "form-action 'self' http://127.0.0.1:7777;";
  t.match(page.headers.get('content-security-policy'), policy);
  const stay = await flow.visitor.submit(page, {});
  t.equal(stay.url, `${RETURN}?state=x+y`, 'a user who stays signed in returns, too');
  const again = await flow.visitor.submit(await flow.visitor.open(String(end)), { logout: 'yes' });
  t.equal(again.url, `${RETURN}?state=x+y`);
  t.match((await flow.visitor.open('/account')).text, /to your account/);
  await t.rejects(client.refreshTokenGrant(config, tokens.refresh_token!), INVALID_GRANT, 'it has ended');
  const query = new URLSearchParams({ post_logout_redirect_uri: RETURN, client_id: id });
  // The page submits itself when no user is signed in.
  const unknown = await flow.visitor.open(`/sign-out?${query}`);
  t.match(unknown.headers.get('content-security-policy'), policy);
});

t.test('ID tokens by RS256 or ES256, as the client has it; rotation and hints', async (t) => {
  const server = await authorizationServer(t);
  const { issuer, service } = server;
  const { json: metadata } = await service.send('GET', '/.well-known/openid-configuration');
  t.same([...metadata.id_token_signing_alg_values_supported].sort(), ['ES256', 'RS256']);
  const keysOf = async () => (await service.send('GET', '/jwks')).json.keys as Record<string, string>[];
  const keys = await keysOf();
  t.same(keys.map(({ alg }) => alg).sort(), ['ES256', 'RS256']);
  for (const key of keys) {
    for (const member of ['d', 'p', 'q', 'dp', 'dq', 'qi']) t.notOk(member in key, 'public');
    t.equal(key.kid, await calculateJwkThumbprint(key));
  }
  const jwks = createRemoteJWKSet(new URL(`${issuer}/jwks`), { cooldownDuration: 0 });
  const kids = new Map<string, string | undefined>();
  for (const idTokenAlgorithm of ['RS256', 'ES256'] as const) {
    const { id, config } = await server.register({ id_token_signed_response_alg: idTokenAlgorithm });
    const tokens = await signIn(server, config);
    t.equal(decodeProtectedHeader(tokens.access_token).alg, 'ES256', 'access tokens stay');
    const renewed = await client.refreshTokenGrant(config, tokens.refresh_token!);
    for (const token of [tokens.id_token!, renewed.id_token!]) {
      const checked = await jwtVerify(token, jwks, { issuer, audience: id, algorithms: [idTokenAlgorithm] });
      kids.set(idTokenAlgorithm, checked.protectedHeader.kid);
    }
  }
  await rotateKeys(service.db, undefined, 0);
  await until('all are published', keysOf, ({ length }) => length === 4);
  const { id, config } = await server.register({ id_token_signed_response_alg: 'RS256' });
  const tokens = await signIn(server, config);
  const { protectedHeader } = await jwtVerify(tokens.id_token!, jwks, { issuer, audience: id });
  t.not(protectedHeader.kid, kids.get('RS256'), 'the new key signs');
});

t.test('clients update: what is given changes, all else stays', async (t) => {
  const server = await authorizationServer(t);
  const { db, databaseUrl: DATABASE_URL } = server.service;
  const env = { DATABASE_URL };
  const run = (args: readonly string[]) => plinth(t, ['clients', ...args], env);
  const made = await run(
    words(`
      create --name web --confidential --redirect https://app.example.org/callback
      --post-logout https://app.example.org/ --id-token-alg RS256 --json
    `),
  );
  t.equal(made.code, 0, made.err);
  const { id } = JSON.parse(made.out) as { id: string };
  const before = (await CLIENT_TABLE.get(db, id))!;
  t.match(before, {
    post_logout_redirect_uris: ['https://app.example.org/'],
    id_token_signed_response_alg: 'RS256',
    version: 1,
  });
  const { created_at: _, version: __, ...fields } = before;
  let expected: object = fields;
  for (const [options, change] of [
    [['--name', 'Web'], { name: 'Web' }],
    [['--post-logout', BYE], { post_logout_redirect_uris: [BYE] }],
    [['--post-logout', ''], { post_logout_redirect_uris: [] }],
    [['--scopes', 'openid,items:write'], { scopes: ['openid', 'items:write'] }],
    [['--scopes', ''], { scopes: [] }],
    [['--id-token-alg', 'ES256'], { id_token_signed_response_alg: 'ES256' }],
    [['--first-party', 'yes'], { first_party: true }],
    [['--first-party', 'no'], { first_party: false }],
    [['--token-format', 'opaque'], { token_format: 'opaque' }],
    [['--token-format', 'jwt', '--name', 'web'], { token_format: 'jwt', name: 'web' }],
    [['--grant', 'authorization_code'], { grant_types: ['authorization_code'] }],
    [['--redirect', BYE, '--redirect', RETURN], { redirect_uris: [BYE, RETURN] }],
  ] as const) {
    const updated = await run(['update', id, ...options]);
    t.equal(updated.code, 0, updated.err);
    expected = { ...expected, ...change };
    t.match(await CLIENT_TABLE.get(db, id), expected, options.join(' '));
  }
  for (const [args, code, err] of [
    [[id], 64, /needs an option/],
    [['--name', 'x'], 64, /clients update needs ID/],
    [['none', '--name', 'x'], 1, /there is no client none/],
    [[id, '--post-logout', 'http://example.org/'], 1, /\/post_logout_redirect_uris\/0 must be https/],
    [[id, '--scopes', 'item:read'], 1, /`item:read` is not a scope/],
    [[id, '--redirect', ''], 1, /\/redirect_uris/],
    [[id, '--id-token-alg', 'HS256'], 64, /must be ES256 or RS256/],
    [[id, '--first-party', 'true'], 64, /must be yes or no/],
  ] as const)
    t.match(await run(['update', ...args]), { code, err }, args.join(' '));
  t.match(await CLIENT_TABLE.get(db, id), expected, 'nothing changed');
});

t.test('clients change over HTTP, with conditions; running processes follow', async (t) => {
  const server = await authorizationServer(t, { AUTH: 'bearer, api-key' });
  const { service } = server;
  const { key } = await makeKey(service.db);
  const headers = { 'x-api-key': key };
  const { id, config } = await server.register({ scopes: ['self', 'items:read'] });
  const path = `/oauth-clients/${id}`;
  const { json: shown } = await service.send('GET', path, { headers });
  t.match(shown, { post_logout_redirect_uris: [], id_token_signed_response_alg: 'ES256', _version: 1 });
  const tokens = await signIn(server, config, { scope: 'openid self' });
  const change = { scopes: ['openid'], post_logout_redirect_uris: [RETURN] };
  const current = { ...headers, 'if-match': '"1"' };
  const patched = await service.send('PATCH', path, { headers: current, body: change });
  const changed = { ...shown, ...change, _version: 2 };
  t.match(patched, { status: 200, headers: { etag: '"2"' }, json: changed });
  const whoami = () => service.send('GET', '/whoami', { headers: byToken(tokens.access_token) });
  await until('tokens lose what the client lost', async () => (await whoami()).json.scopes.join(), 'openid');
  t.equal((await service.send('PATCH', path, { headers: current, body: {} })).status, 412);
  t.equal((await service.send('PUT', path, { headers: current, body: patched.json })).status, 412);
  const replaced = await service.send('PUT', path, { headers, body: { ...patched.json, name: 'Other' } });
  t.match(replaced, { status: 200, json: { ...patched.json, name: 'Other', _version: 3 } });
  const least = { name: 'Least', grant_types: ['authorization_code'], redirect_uris: [REDIRECT] };
  t.match(await service.send('PUT', path, { headers, body: least }), {
    json: { ...least, scopes: [], post_logout_redirect_uris: [], token_format: 'jwt' },
  });
  for (const [method, body, at] of [
    ['PATCH', { type: 'confidential' }, '/type'],
    ['PATCH', { post_logout_redirect_uris: ['https://app.example.org/#x'] }, '/post_logout_redirect_uris/0'],
    ['PATCH', { id_token_signed_response_alg: 'none' }, '/id_token_signed_response_alg'],
    ['PUT', { ...least, secret: 'x' }, '/secret'],
    ['PUT', { name: 'x' }, '/grant_types'],
  ] as const) {
    const { status, json } = await service.send(method, path, { headers, body });
    t.same([status, json.errors?.[0]?.path], [400, at], JSON.stringify(body));
  }
  for (const method of ['PUT', 'PATCH'])
    t.equal((await service.send(method, '/oauth-clients/none', { headers, body: least })).status, 404);
  const { key: reader } = await makeKey(service.db, { scopes: ['items:read'] });
  for (const forbidden of [path, '/userinfo'])
    t.equal((await service.send('GET', forbidden, { headers: byKey(reader) })).status, 403, forbidden);
});

t.test('every combination of addresses that is accepted is one that oidc-provider accepts', async (t) => {
  const { service } = await authorizationServer(t, { AUTH: 'bearer, api-key' });
  const { key } = await makeKey(service.db);
  const addresses = [
    'https://app.example.org/callback',
    'https://localhost/callback',
    'http://127.0.0.1/callback',
    'http://127.0.0.2/callback',
    'http://[::1]/callback',
    'http://localhost:3000/callback',
    'com.example.app:/callback',
  ];
  let accepted = 0;
  for (const type of ['public', 'confidential'])
    for (const redirect of addresses)
      for (const postLogout of addresses) {
        const made = await service.send('POST', '/oauth-clients', {
          headers: byKey(key),
          body: {
            ...{ name: 'x', type, grant_types: ['authorization_code'] },
            ...{ redirect_uris: [redirect], post_logout_redirect_uris: [postLogout] },
          },
        });
        if (made.status === 400) continue;
        accepted++;
        const parameters = { client_id: made.json.id, post_logout_redirect_uri: postLogout };
        const { status } = await service.send('GET', `/sign-out?${new URLSearchParams(parameters)}`);
        t.equal(status, 200, `${type}: ${redirect}, ${postLogout}`);
      }
  t.ok(accepted > 20);
});

t.test('clients of earlier versions stay as they are', async (t) => {
  const server = await authorizationServer(t);
  const { db } = server.service;
  const { id, config } = await server.register();
  await db.run(
    `update issuer_clients
     set metadata = (metadata::jsonb - 'post_logout_redirect_uris' - 'id_token_signed_response_alg')::text
     where id = $1`,
    [id],
  );
  t.match(await CLIENT_TABLE.get(db, id), {
    post_logout_redirect_uris: [],
    id_token_signed_response_alg: 'ES256',
  });
  t.equal(decodeProtectedHeader((await signIn(server, config)).id_token!).alg, 'ES256');
});
