import { json, objectOf, TEXT } from '../../api/doc.js';
import { at, type Endpoint } from '../../api/endpoint.js';
import { absent } from '../../errors/record-errors.js';
import { badRequest } from '../../errors/request-errors.js';
import { JSON_TYPE } from '../../http/media-types.js';
import type { Reply } from '../../http/reply.js';
import type { Handler, Request } from '../../http/request.js';
import { CLIENTS, type ClientServices } from './client-input.js';
import { ACCOUNT, INTERACTION, PATHS, UPSTREAM } from './paths.js';
import { WAYS, type WaysServices } from './sign-in-ways.js';
import { claimsOf, findUser } from './user-claims.js';

/**
 * Handlers of requests: `plain` and `limited` by oidc-provider, the latter where secrets could be guessed, `inAddressOrForm` with
 * parameters in the address or in a form, `interact` to the pages on which users sign in and consent, `account` to the page about
 * their account, and `returned` of browsers that return from other issuers.
 */
type Handlers = Readonly<
  Record<'plain' | 'limited' | 'inAddressOrForm' | 'interact' | 'account' | 'returned', Handler>
>;

/** The services that endpoints of the authorization server run with. */
export interface IssuerServices extends ClientServices, WaysServices, Handlers {}

/** The methods of a path whose requests a handler responds to. Batches alone run them. */
const handled = (
  methods: readonly Endpoint['method'][],
  path: string,
  by: keyof Handlers,
): Endpoint<IssuerServices>[] =>
  methods.map((method) => ({
    method,
    path,
    requires: 'nothing',
    handle: (services, request) => services[by](request),
    run: () => {
      throw badRequest('A batch cannot contain requests to the authorization server.');
    },
  }));

/** The address to which other issuers return. */
export const UPSTREAM_ENDPOINTS = handled(['GET'], `${UPSTREAM}/:upstream`, 'returned');

/** The endpoints and pages of the embedded authorization server, at the root only, and its clients. */
export const ENDPOINTS: readonly Endpoint<IssuerServices>[] = [
  ...CLIENTS,
  ...WAYS,
  ...handled(['GET'], '/.well-known/openid-configuration', 'plain'),
  ...handled(['GET'], '/.well-known/oauth-authorization-server', 'plain'),
  ...handled(['GET'], PATHS.jwks, 'plain'),
  ...handled(['GET', 'POST'], PATHS.authorization, 'inAddressOrForm'),
  ...handled(['GET'], `${PATHS.authorization}/:uid`, 'plain'),
  ...handled(['POST'], PATHS.token, 'limited'),
  ...handled(['POST'], PATHS.introspection, 'limited'),
  ...handled(['POST'], PATHS.revocation, 'limited'),
  ...handled(['POST'], PATHS.pushed_authorization_request, 'limited'),
  ...handled(['POST'], PATHS.device_authorization, 'limited'),
  ...handled(['GET', 'POST'], PATHS.code_verification, 'limited'),
  ...handled(['GET'], `${PATHS.code_verification}/:uid`, 'plain'),
  ...handled(['GET', 'POST'], PATHS.end_session, 'inAddressOrForm'),
  ...handled(['POST'], `${PATHS.end_session}/confirm`, 'plain'),
  ...handled(['GET'], `${PATHS.end_session}/success`, 'plain'),
  ...handled(['GET', 'POST'], `${INTERACTION}/:uid`, 'interact'),
  ...handled(['GET', 'POST'], ACCOUNT, 'account').map((each) =>
    each.method === 'GET' ? { ...each, homeLink: { name: 'account', position: 11 } } : each,
  ),
  ...(['GET', 'POST'] as const).map((method) => ({
    ...at(method, PATHS.userinfo, { scopes: ['openid'] }),
    offers: [JSON_TYPE],
    doc: {
      id: `${method.toLowerCase()}UserInfo`,
      tag: 'authorization' as const,
      summary: 'Claims about the user of the token (OpenID Connect)',
      success: { 200: json('The claims.', 'UserInfo', ['Cache-Control']) },
      errors: [['NOT_FOUND', 'simple']] as const,
    },
    schemas: () => ({
      UserInfo: { ...objectOf({ sub: TEXT }), description: 'OpenID Connect claims of the user.' },
    }),
    run: userinfo,
  })),
];

/** The claims about the token's user that its scopes grant (OpenID Connect Core section 5.3): 200, 404 for a client. */
async function userinfo({ db }: IssuerServices, { principal: { subject, scopes } }: Request): Promise<Reply> {
  const user = await findUser(db, subject);
  if (!user) throw absent('user', 'simple');
  return {
    status: 200,
    headers: ['Content-Type', JSON_TYPE, 'Cache-Control', 'no-store'],
    body: JSON.stringify(claimsOf(user, scopes)),
  };
}
