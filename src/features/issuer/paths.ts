/** The paths of the authorization server's endpoints, by oidc-provider's names. */
export const PATHS = {
  authorization: '/authorize',
  token: '/token',
  introspection: '/introspect',
  userinfo: '/userinfo',
  device_authorization: '/device_authorization',
  code_verification: '/device',
  revocation: '/revoke',
  jwks: '/jwks',
  pushed_authorization_request: '/par',
  end_session: '/sign-out',
} as const;

/** The path of the page about a user's own sign-ins. */
export const ACCOUNT = '/account';

/** The path at which users sign in and consent. */
export const INTERACTION = '/interaction';

/** The path to which other issuers return, each at a segment of its own. */
export const UPSTREAM = '/sign-in';
