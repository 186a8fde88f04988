import { type CoreConfig, FeatureSettings } from '../../config/config.js';
import type { Reader } from '../../config/env-reader.js';
import { isLoopback, parseSecureUrl } from '../../config/parsers.js';

/** How long a user remains signed in to a browser at most. */
export const SESSION_S = 14 * 24 * 3600;

export type IssuerConfig = Readonly<ReturnType<typeof readIssuerConfig>>;

const KEY_BYTES = 32;

function readIssuerConfig({ flag, integer, optional }: Reader) {
  return {
    /** Whether this service is its own authorization server. */
    authServer: flag('AUTH_SERVER'),
    /** Encrypts the private signing keys in the database; undefined: they are stored as they are. */
    authServerKey: optional('AUTH_SERVER_KEY', '32 bytes in base64: openssl rand -base64 32', (text) => {
      const key = Buffer.from(text, 'base64');
      return key.length === KEY_BYTES ? key : undefined;
    }),
    /** Sign-ins that strangers may begin in a minute from one address; 0: any number. */
    signInsPerAddress: integer('SIGN_INS_PER_ADDRESS', 120, 0, 1_000_000),
    /** How long an access token is valid. */
    accessTokenSeconds: integer('ACCESS_TOKEN_TTL', 600, 300, 900),
    /** How long a user remains signed in to a browser without a request. */
    sessionIdleSeconds: integer('SESSION_IDLE', 3 * 24 * 3600, 300, SESSION_S),
    /** For how long after its first use a refresh token may be used again, with the same successor. */
    refreshReuseSeconds: 10,
  };
}

/** Settings that contradict AUTH_SERVER=on. */
function issuerFaults({ authServer }: IssuerConfig, core: CoreConfig): string[] {
  if (!authServer) return [];
  const { auth, issuer, audience, introspection, jwksUri, host, port, publicUrl } = core;
  const external = issuer === undefined ? { AUDIENCE: audience, JWKS_URI: jwksUri } : {};
  const rules: [fault: string, isValid: boolean][] = [
    ...Object.entries({ ...external, INTROSPECTION: introspection }).map(
      ([name, value]): [string, boolean] => [
        `AUTH_SERVER=on and ${name} exclude each other: ${name} is for another authorization server`,
        value === undefined,
      ],
    ),
    ['AUTH_SERVER=on needs AUTH=bearer, so that the service accepts its tokens', auth.includes('bearer')],
    [
      'AUTH_SERVER=on needs PUBLIC_URL, the URL at which clients reach the service, unless HOST is a loopback address and PORT is not 0',
      publicUrl !== undefined || (isLoopback(host) && port !== 0),
    ],
    [
      'AUTH_SERVER=on needs a PUBLIC_URL with https, or of a loopback address',
      publicUrl === undefined || parseSecureUrl(publicUrl) !== undefined,
    ],
  ];
  return rules.filter(([, isValid]) => !isValid).map(([fault]) => fault);
}

/** With AUTH_SERVER=on the service's own URL is the issuer, and the audience of the tokens for this API. ISSUER is another one. */
function ownIssuer({ authServer }: IssuerConfig, core: CoreConfig): Partial<CoreConfig> {
  const { host, port, tlsCert } = core;
  const origin = `${tlsCert === undefined ? 'http' : 'https'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const published = core.publicUrl ?? origin;
  if (!authServer) return {};
  // A host with a zone cannot be in a URL. It needs PUBLIC_URL, so that the start ends with a fault.
  const url = URL.canParse(published) ? new URL(published).origin : published;
  const { issuer, audience, jwksUri } = core;
  const otherIssuer = issuer === undefined ? undefined : { issuer, audience, jwksUri };
  return { publicUrl: url, issuer: url, audience: url, otherIssuer };
}

export const ISSUER_SETTINGS = new FeatureSettings({
  read: readIssuerConfig,
  isOn: ({ authServer }) => authServer,
  faults: issuerFaults,
  programFaults: ({ authServer }, isMounted) =>
    authServer && isMounted
      ? ['AUTH_SERVER=on and mountPath exclude each other: its endpoints are at the root of PUBLIC_URL']
      : [],
  complete: ownIssuer,
  // biome-ignore format: one name a line says no more
  paths: [
    'account', 'authorize', 'device', 'device_authorization', 'interaction', 'introspect', 'jwks', 'par', 'revoke',
    'token', 'userinfo',
  ],
  // biome-ignore format: one name a line says no more
  typeNames: [
    'Client', 'ClientInput', 'ClientList', 'ClientPatch', 'Clients', 'NewClient', 'SignInChange', 'SignInWays', 'UserInfo',
  ],
});
