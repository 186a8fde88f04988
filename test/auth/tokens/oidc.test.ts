import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair } from 'jose';
import Provider, { type Configuration, type JWK } from 'oidc-provider';
import { Introspection } from '../../../src/auth/tokens/introspection.js';
import { readConfig } from '../../../src/config/config.js';
import { mockClock } from '../../support/pause.js';
import { testService } from '../../support/service.js';
import { shownLog } from '../../support/shown-log.js';
import t, { type Test } from '../../support/test.js';

const JWT_API = 'https://jwt.example.org';
const OPAQUE_API = 'https://opaque.example.org';
const SECRET = 'a secret of : & %';
const basic = `Basic ${Buffer.from(`robot:${new URLSearchParams({ '': SECRET }).toString().slice(1)}`).toString('base64')}`;

/** A real authorization server (oidc-provider), with one client that acts for itself. */
async function startProvider(t: Test): Promise<string> {
  const server = http.createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  const key = { ...(await exportJWK(privateKey)), kid: 'one', alg: 'RS256', use: 'sig' } as JWK;
  const configuration: Configuration = {
    jwks: { keys: [key] },
    cookies: { keys: ['not used'] },
    clients: [
      {
        client_id: 'robot',
        client_secret: SECRET,
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
        token_endpoint_auth_method: 'client_secret_basic',
      },
    ],
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      introspection: { enabled: true, allowedPolicy: () => true },
      revocation: { enabled: true, allowedPolicy: () => true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_ctx, resource) => ({
          scope: 'items:read items:write',
          audience: resource,
          accessTokenFormat: resource === JWT_API ? 'jwt' : 'opaque',
          accessTokenTTL: 600,
          ...(resource === JWT_API ? { jwt: { sign: { alg: 'RS256' } } } : {}),
        }),
      },
    },
  };
  server.on('request', new Provider(url, configuration).callback());
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return url;
}

async function post(url: string, form: Record<string, string>): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { Authorization: basic },
    body: new URLSearchParams(form),
  });
}

async function accessToken(issuer: string, resource: string): Promise<string> {
  const response = await post(`${issuer}/token`, {
    grant_type: 'client_credentials',
    resource,
    scope: 'items:read',
  });
  const { access_token: token } = (await response.json()) as { access_token?: string };
  if (token === undefined) throw new Error('oidc-provider gives no token');
  return token;
}

const introspected = (issuer: string) => ({
  AUTH: 'bearer',
  ISSUER: issuer,
  INTROSPECTION: `${issuer}/token/introspection`.replace('//', `//robot:${encodeURIComponent(SECRET)}@`),
});

t.test('a JWT of oidc-provider', async (t) => {
  const issuer = await startProvider(t);
  const service = await testService(t, { AUTH: 'bearer', ISSUER: issuer, AUDIENCE: JWT_API });
  const authorization = `Bearer ${await accessToken(issuer, JWT_API)}`;
  t.equal((await service.send('GET', '/items', { headers: { authorization } })).status, 200);
  t.match((await service.send('GET', '/whoami', { headers: { authorization } })).json, {
    subject: 'robot',
    scopes: ['items:read'],
    scheme: 'bearer',
  });
  const body = { name: 'Lamp' };
  const write = await service.send('POST', '/items', { headers: { authorization }, body });
  t.equal(write.status, 403, 'a scope that was not requested');

  const other = await testService(t, { AUTH: 'bearer', ISSUER: issuer, AUDIENCE: OPAQUE_API });
  t.equal((await other.send('GET', '/items', { headers: { authorization } })).status, 401, 'another API');
});

t.test('an opaque token of oidc-provider, until it is revoked', async (t) => {
  const issuer = await startProvider(t);
  const env = { ...introspected(issuer), AUDIENCE: OPAQUE_API };
  const service = await testService(t, env);
  const token = await accessToken(issuer, OPAQUE_API);
  const headers = { authorization: `Bearer ${token}` };
  t.equal((await service.send('GET', '/items', { headers })).status, 200);
  t.match((await service.send('GET', '/whoami', { headers })).json, {
    subject: 'robot',
    scopes: ['items:read'],
  });
  const unknown = await service.send('GET', '/items', { headers: { authorization: `Bearer ${token}x` } });
  t.equal(unknown.status, 401);

  const clock = mockClock(t);
  const config = readConfig(env);
  const source = new Introspection(config, config.introspection!, shownLog(t), 5000);
  const verify = async (text: string) => source.cached(text) ?? source.verify(text);
  t.match(await verify(token), { principal: { subject: 'robot' } });
  t.equal((await post(`${issuer}/token/revocation`, { token })).status, 200);
  t.match(await verify(token), { principal: { subject: 'robot' } }, 'from the cache');
  clock.ms += 31_000;
  const refusal = await verify(token).catch((error: unknown) => error);
  t.match(refusal, { description: 'The access token is not active.' });
  const late = await testService(t, env);
  t.equal((await late.send('GET', '/items', { headers })).status, 401, 'refused by a new service');
});
