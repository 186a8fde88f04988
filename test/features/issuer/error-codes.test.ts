import { createClient } from '../../../src/features/issuer/clients.js';
import { byPassword } from '../../support/credentials.js';
import t from '../../support/test.js';
import { authorizationServer, CLIENT, DEVICE_GRANT, MACHINE, REDIRECT } from './authorization-server.js';

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

t.test('refusals of requests to the authorization server have the codes of their standards', async (t) => {
  const server = await authorizationServer(t);
  const { id } = await server.register();
  const { item, secret = '' } = await createClient(server.service.db, {
    ...{ ...CLIENT, ...MACHINE },
    scopes: ['items:write'],
  });
  const machine = { client_id: item.id, client_secret: secret };
  const pushed = { response_type: 'code', redirect_uri: REDIRECT, scope: 'openid' };
  const challenge = { code_challenge: 'a'.repeat(43), code_challenge_method: 'S256' };
  const request = { client_id: id, ...pushed, ...challenge };
  const credentials = { grant_type: 'client_credentials' };
  const rows: [path: string, form: Record<string, string>, status: number, error: string][] = [
    ['/token', {}, 400, 'invalid_request'],
    ['/token', machine, 400, 'invalid_request'],
    ['/token', { ...machine, grant_type: 'password' }, 400, 'unsupported_grant_type'],
    ['/token', { ...machine, grant_type: 'authorization_code', code: 'x' }, 400, 'invalid_request'],
    ['/token', { ...machine, grant_type: 'refresh_token', refresh_token: 'x' }, 400, 'invalid_request'],
    ['/token', { ...machine, grant_type: DEVICE_GRANT, device_code: 'x' }, 400, 'invalid_request'],
    ['/token', { client_id: id, ...credentials }, 400, 'invalid_request'],
    ['/token', { client_id: id, grant_type: 'implicit' }, 400, 'unsupported_grant_type'],
    ['/token', { client_id: id, grant_type: JWT_BEARER }, 400, 'unsupported_grant_type'],
    ['/token', { client_id: id, grant_type: DEVICE_GRANT }, 400, 'invalid_request'],
    ['/token', { client_id: item.id, ...credentials }, 401, 'invalid_client'],
    ['/token', { client_id: item.id, client_secret: '', ...credentials }, 401, 'invalid_client'],
    ['/token', { client_id: 'unknown', ...credentials }, 401, 'invalid_client'],
    ['/token', { ...machine, client_secret: 'x', ...credentials }, 401, 'invalid_client'],
    ['/token', { ...machine, ...credentials, scope: 'admin' }, 400, 'invalid_scope'],
    ['/token', { ...machine, ...credentials, resource: 'https://other.example' }, 400, 'invalid_target'],
    ['/token', { client_id: id, grant_type: 'refresh_token', refresh_token: 'x' }, 400, 'invalid_grant'],
    ['/token', { client_id: id, grant_type: 'refresh_token' }, 400, 'invalid_request'],
    ['/device_authorization', { client_id: id }, 400, 'invalid_request'],
    ['/device_authorization', machine, 400, 'invalid_request'],
    ['/par', { ...machine, ...pushed, ...challenge }, 400, 'invalid_request'],
    ['/par', { client_id: id, ...pushed }, 400, 'invalid_request'],
    ['/par', { ...request, scope: 'admin' }, 400, 'invalid_scope'],
    ['/par', { ...request, response_type: 'token' }, 400, 'unsupported_response_type'],
    ['/par', { ...request, redirect_uri: 'https://other.example/' }, 400, 'invalid_request'],
    ['/introspect', { token: 'x' }, 400, 'invalid_request'],
    ['/introspect', machine, 400, 'invalid_request'],
    ['/introspect', { ...machine, client_secret: 'x', token: 'x' }, 401, 'invalid_client'],
    ['/revoke', machine, 400, 'invalid_request'],
    ['/revoke', { ...machine, client_secret: 'x', token: 'x' }, 401, 'invalid_client'],
  ];
  for (const [path, form, status, error] of rows) {
    const response = await server.post(path, form);
    const what = `${path} ${Object.keys(form)} ${form.grant_type ?? ''}`;
    t.same([response.status, response.json.error], [status, error], what);
    t.equal(response.headers.get('cache-control'), 'no-store', what);
  }
  for (const path of ['/token', '/introspect', '/revoke']) {
    const { status, headers } = await server.post(path, { ...credentials, token: 'x' }, byPassword(item.id));
    t.equal(status, 401);
    t.match(headers.get('www-authenticate'), /^Basic realm=/, path);
  }
  t.equal((await server.post('/reg', {})).status, 404, 'dynamic registration');
});
