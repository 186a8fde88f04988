import type { Db } from '../../db/db.js';
import { badRequest } from '../../errors/request-errors.js';
import type { Handler } from '../../http/handler.js';
import { type OpenEndpoint, type Route, requiring } from '../../http/router.js';
import { ACCOUNT, ENDPOINTS, INTERACTION } from './paths.js';
import { userinfo } from './userinfo.js';

/**
 * The endpoints and pages of the embedded authorization server, at the root only. `plain` and `limited` handle requests to
 * oidc-provider, the latter where secrets could be guessed, `interact` those to the pages on which users sign in and
 * consent, `account` those to the page about their account.
 */
export function issuerRoutes(
  db: Db,
  { plain, limited }: { readonly plain: Handler; readonly limited: Handler },
  interact: Handler,
  account: Handler,
): Route[] {
  const get = { GET: HANDLED };
  const post = { POST: HANDLED };
  const both = { GET: HANDLED, POST: HANDLED };
  const info = requiring({ scopes: ['openid'] }, userinfo(db));
  return [
    { path: '/.well-known/openid-configuration', actions: get, handler: plain },
    { path: '/.well-known/oauth-authorization-server', actions: get, handler: plain },
    { path: ENDPOINTS.jwks, actions: get, handler: plain },
    { path: ENDPOINTS.authorization, actions: get, handler: plain },
    { path: `${ENDPOINTS.authorization}/:uid`, actions: get, handler: plain },
    { path: ENDPOINTS.token, actions: post, handler: limited },
    { path: ENDPOINTS.introspection, actions: post, handler: limited },
    { path: ENDPOINTS.revocation, actions: post, handler: limited },
    { path: ENDPOINTS.pushed_authorization_request, actions: post, handler: limited },
    { path: ENDPOINTS.device_authorization, actions: post, handler: limited },
    { path: ENDPOINTS.code_verification, actions: both, handler: limited },
    { path: `${ENDPOINTS.code_verification}/:uid`, actions: get, handler: plain },
    { path: ENDPOINTS.end_session, actions: get, handler: plain },
    { path: `${ENDPOINTS.end_session}/confirm`, actions: post, handler: plain },
    { path: `${ENDPOINTS.end_session}/success`, actions: get, handler: plain },
    { path: `${INTERACTION}/:uid`, actions: both, handler: interact },
    { path: ACCOUNT, actions: both, handler: account },
    { path: ENDPOINTS.userinfo, actions: { GET: info, POST: info } },
  ];
}

/** Names a method of a path whose handler responds. Only a batch runs it. */
const HANDLED: OpenEndpoint = {
  requires: 'nothing',
  run: () => {
    throw badRequest('A batch cannot contain requests to the authorization server.');
  },
};
