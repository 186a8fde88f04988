import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { JWTPayload } from 'jose';
import { json, METADATA, sign, signingKey, testIssuer } from '../../support/issuer.js';
import { type TestService, testService } from '../../support/service.js';
import t, { type Test } from '../../support/test.js';
import { some } from '../../support/thorough.js';

const DOCUMENT = readFileSync(
  fileURLToPath(new URL('../../../../docs/authentication.md', import.meta.url)),
  'utf8',
);
const rs = await signingKey('rs', 'RS256');
/** Publishes the key of all documented issuers, so that tests of one of them use one service. */
const published = await testIssuer(t, rs);

type Env = Record<string, string>;
type Claims = Record<string, unknown>;

/** The settings in the code block below a heading of docs/authentication.md. */
function documented(heading: string): Env & { ISSUER: string; AUDIENCE: string } {
  const [, block] =
    new RegExp(`^#### ${heading}\\n[^#]*?^\`\`\`properties\\n(.*?)^\`\`\``, 'ms').exec(DOCUMENT) ?? [];
  const lines = (block ?? '').split('\n').filter((line) => line !== '');
  const settings = lines.map((line) => /^([A-Z_]+)=(?:'([^']*)'|(\S+))$/.exec(line)!);
  return Object.fromEntries(settings.map(([, name, quoted, plain]) => [name, quoted ?? plain])) as never;
}

/** The documented configuration; only the keys come from an issuer on this machine. */
const serviceOf = (t: Test, env: Env): Promise<TestService> =>
  testService(t, { ...env, JWKS_URI: `${published.url}/jwks`, AUTH_FAILURES: '0' });

const whoami = (service: TestService, token: string) =>
  service.send('GET', '/whoami', { headers: { authorization: `Bearer ${token}` } });

const times = () => {
  const now = Math.floor(Date.now() / 1000);
  return { iat: now, nbf: now, exp: now + 3600 };
};

interface Issuer {
  readonly heading: string;
  /** Header and claims of an access token, by the issuer's documentation; without times. */
  readonly header: object;
  readonly access: (env: Env) => Claims;
  /** The principal that `/whoami` reports. */
  readonly subject: string;
  readonly scopes: readonly string[];
  /** Other tokens of the issuer that the configuration accepts. */
  readonly others?: readonly [says: string, claims: Claims, subject: string, scopes: readonly string[]][];
  /** The issuer's ID token, for a client and, as the worst case, for the API's own audience without a nonce. */
  readonly id: (env: Env) => Claims;
}

const USER = 'b3a5c1de-6a1f-4f0e-9d3c-2f6f5a1c7d10';
const CLIENT = '0c9d7c4e-97b8-4a1c-8a4b-4b1f8f3b2a10';
const NONE = /not an access token/;

const ISSUERS: readonly Issuer[] = [
  {
    heading: 'Keycloak',
    header: { typ: 'JWT' },
    access: ({ ISSUER, AUDIENCE }) => ({
      iss: ISSUER,
      aud: [AUDIENCE, 'account'],
      sub: USER,
      jti: 'onrtac:1',
      typ: 'Bearer',
      azp: 'web-app',
      sid: 's',
      acr: '1',
      'allowed-origins': ['https://app.example.org'],
      realm_access: { roles: ['offline_access', 'admin'] },
      resource_access: { account: { roles: ['view-profile'] }, plinth: { roles: ['reader', 'own-records'] } },
      scope: 'openid email profile',
      email_verified: true,
      preferred_username: 'ada',
    }),
    subject: USER,
    scopes: ['items:read', 'posts:read', 'self'],
    others: [
      [
        'a service account',
        {
          client_id: 'web-app',
          preferred_username: 'service-account-web-app',
          sid: undefined,
        },
        `client:${USER}`,
        ['items:read', 'posts:read', 'self'],
      ],
      ['roles of the realm only', { resource_access: undefined }, USER, []],
    ],
    id: ({ ISSUER }) => ({
      iss: ISSUER,
      aud: 'web-app',
      sub: USER,
      typ: 'ID',
      azp: 'web-app',
      at_hash: 'h',
      acr: '1',
    }),
  },
  {
    heading: 'Entra ID',
    header: { typ: 'JWT' },
    access: ({ ISSUER, AUDIENCE }) => ({
      iss: ISSUER,
      aud: AUDIENCE,
      sub: 'AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ',
      oid: USER,
      tid: '11111111-1111-4111-8111-111111111111',
      azp: CLIENT,
      azpacr: '1',
      name: 'Ada',
      preferred_username: 'ada@example.org',
      roles: ['Items.Write'],
      scp: 'Items.Read Own.Records',
      rh: 'r',
      uti: 'u',
      ver: '2.0',
    }),
    subject: 'AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ',
    scopes: ['items:read', 'self'],
    others: [
      [
        'an application without a user',
        { sub: USER, scp: undefined, name: undefined, preferred_username: undefined },
        `client:${USER}`,
        ['items:write'],
      ],
    ],
    id: ({ ISSUER }) => ({
      iss: ISSUER,
      aud: CLIENT,
      sub: 'AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ',
      oid: USER,
      tid: '11111111-1111-4111-8111-111111111111',
      name: 'Ada',
      preferred_username: 'ada@example.org',
      roles: ['Items.Write'],
      nonce: 'n',
      ver: '2.0',
    }),
  },
  {
    heading: 'Amazon Cognito',
    header: { typ: undefined },
    access: ({ ISSUER, AUDIENCE }) => ({
      iss: ISSUER,
      aud: AUDIENCE,
      sub: USER,
      'cognito:groups': ['admin'],
      version: 2,
      client_id: '1example23456789',
      origin_jti: 'o',
      token_use: 'access',
      scope: 'openid https://api.example.org/items.read',
      auth_time: 1,
      jti: 'j',
      username: 'ada',
    }),
    subject: USER,
    scopes: ['items:read'],
    others: [
      [
        'client credentials, had they an aud',
        { sub: '1example23456789', 'cognito:groups': undefined, username: undefined },
        'client:1example23456789',
        ['items:read'],
      ],
    ],
    id: ({ ISSUER }) => ({
      iss: ISSUER,
      aud: '1example23456789',
      sub: USER,
      'cognito:groups': ['admin'],
      'cognito:username': 'ada',
      token_use: 'id',
      at_hash: 'h',
      email: 'ada@example.org',
    }),
  },
  {
    heading: 'Auth0',
    header: { typ: 'JWT' },
    access: ({ ISSUER, AUDIENCE }) => ({
      iss: ISSUER,
      aud: [AUDIENCE, `${ISSUER}userinfo`],
      sub: 'auth0|6553da60a54af58e29493993',
      azp: 'web-app',
      scope: 'openid profile items:read items:write',
      permissions: ['items:read'],
    }),
    subject: 'auth0|6553da60a54af58e29493993',
    scopes: ['items:read'],
    others: [
      [
        'machine to machine',
        { sub: 'web-app@clients', gty: 'client-credentials', scope: 'items:read' },
        'client:web-app@clients',
        ['items:read'],
      ],
    ],
    id: ({ ISSUER }) => ({
      iss: ISSUER,
      aud: 'web-app',
      sub: 'auth0|6553da60a54af58e29493993',
      nickname: 'ada',
      email: 'ada@example.org',
      sid: 's',
      nonce: 'n',
    }),
  },
  {
    heading: 'Google',
    header: { typ: 'JWT' },
    access: ({ ISSUER, AUDIENCE }) => ({
      iss: ISSUER,
      sub: ISSUER,
      aud: AUDIENCE,
      scope: 'items:read admin',
    }),
    subject: 'client:caller@my-project.iam.gserviceaccount.com',
    scopes: ['items:read'],
    id: ({ AUDIENCE }) => ({
      iss: 'https://accounts.google.com',
      aud: AUDIENCE,
      azp: '1234567890',
      sub: '1234567890',
      email: 'caller@my-project.iam.gserviceaccount.com',
      email_verified: true,
    }),
  },
];

for (const { heading, header, access, subject, scopes, others = [], id } of some(ISSUERS, 2)) {
  t.test(`${heading}: the documented configuration accepts its access tokens`, async (t) => {
    const env = documented(heading);
    const service = await serviceOf(t, env);
    const valid: Claims = { ...access(env), ...times() };
    const accepted: NonNullable<Issuer['others']> = [['an access token', {}, subject, scopes], ...others];
    for (const [says, more, expected, granted] of accepted) {
      const token = await sign(rs, { ...valid, ...more } as JWTPayload, header);
      const { status, json } = await whoami(service, token);
      t.equal(status, 200, `${says}: ${json?.error?.message}`);
      t.equal(json.subject, expected, says);
      t.same([...json.scopes].sort(), [...granted].sort(), says);
    }
  });

  t.test(`${heading}: nothing else passes`, async (t) => {
    const env = documented(heading);
    const service = await serviceOf(t, env);
    const valid: Claims = { ...access(env), ...times() };
    const idToken: Claims = { ...id(env), ...times() };
    const { nonce, at_hash, ...bare } = idToken;
    const api = { iss: env.ISSUER, aud: env.AUDIENCE };
    const make = (claims: Claims, more: object = header) => sign(rs, claims as JWTPayload, more);
    const rows: [says: string, token: string, message: RegExp][] = [
      ['the ID token', await make(idToken), /another (audience|issuer)/],
      ['an ID token for the audience of the API', await make({ ...idToken, ...api, nonce: 'n' }), NONE],
      ['an ID token for that audience without nonce and at_hash', await make({ ...bare, ...api }), NONE],
      ['an access token with a nonce', await make({ ...valid, nonce: 'n' }), NONE],
      ['an access token with at_hash', await make({ ...valid, at_hash: 'h' }), NONE],
      ['a logout token', await make(valid, { typ: 'logout+jwt' }), NONE],
    ];
    for (const [says, token, message] of rows) {
      const response = await whoami(service, token);
      t.equal(response.status, 401, says);
      t.match(response.json?.error?.message, message, says);
    }
    if ('typ' in header && header.typ === 'JWT') {
      const { JWT_TYP, ...strict } = env;
      const other = await serviceOf(t, strict);
      t.equal((await whoami(other, await make(valid))).status, 401, 'without JWT_TYP=JWT');
    }
  });
}

t.test('keys are found by the metadata that Entra ID, Auth0 and Keycloak publish', async (t) => {
  const issuer = await testIssuer(t, rs);
  issuer.paths.delete(METADATA);
  const names = [
    ['/tenant/v2.0/.well-known/openid-configuration', `${issuer.url}/tenant/v2.0`],
    ['/.well-known/openid-configuration', `${issuer.url}/`],
    ['/realms/main/.well-known/openid-configuration', `${issuer.url}/realms/main`],
  ] as const;
  for (const [path, name] of some(names, 1)) {
    issuer.paths.set(path, json({ issuer: name, jwks_uri: `${issuer.url}/jwks` }));
    const { JWKS_URI, ...env } = documented('Auth0');
    const service = await testService(t, { ...env, ISSUER: name, JWT_TYP: 'JWT' });
    const claims = { iss: name, aud: env.AUDIENCE, sub: 'ada', azp: 'app', scope: '', ...times() };
    t.equal((await whoami(service, await sign(rs, claims, { typ: 'JWT' }))).status, 200, path);
  }
});

t.test('a service account is not listed as an authorization server', async (t) => {
  const service = await serviceOf(t, documented('Google'));
  const { json } = await service.send('GET', '/.well-known/oauth-protected-resource');
  t.notOk('authorization_servers' in json);
});

t.test('the claims of the scopes', async (t) => {
  const issuer = await testIssuer(t, rs);
  const token = (more: Claims) =>
    sign(rs, { iss: issuer.url, aud: 'api', sub: 'ada', client_id: 'app', ...times(), ...more });
  const url = 'https://api.example.org/roles';
  const map = '{"Reader of all": ["items:read", "posts:read"], "__proto__": ["self"]}';
  const rows: [says: string, env: Env, more: Claims, scopes: string[]][] = [
    ['scope first', {}, { scope: 'a', scp: 'b' }, ['a']],
    ['a claim that is a URL', { JWT_SCOPES_CLAIM: url }, { [url]: ['a', 'b'], scope: 'admin' }, ['a', 'b']],
    ['members of a URL', { JWT_SCOPES_CLAIM: `${url}.api` }, { [url]: { api: 'a' } }, ['a']],
    ['the exact name first', { JWT_SCOPES_CLAIM: 'a.b' }, { 'a.b': 'x', a: { b: 'y' } }, ['x']],
    [
      'a client with dots in its name',
      { JWT_SCOPES_CLAIM: 'resource_access.my.api.roles' },
      { resource_access: { 'my.api': { roles: ['a'] } } },
      ['a'],
    ],
    ['the first claim that there is', { JWT_SCOPES_CLAIM: 'scp, roles' }, { roles: ['a'] }, ['a']],
    ['nothing there', { JWT_SCOPES_CLAIM: 'realm_access.roles' }, { scope: 'admin' }, []],
    ['of no object', { JWT_SCOPES_CLAIM: 'a.length' }, { a: 'abc' }, []],
    ['inherited', { JWT_SCOPES_CLAIM: 'constructor.name toString' }, {}, []],
    ['a number', { JWT_SCOPES_CLAIM: 'roles' }, { roles: 7 }, []],
    [
      'a map grants what it names only',
      { JWT_SCOPES_CLAIM: 'roles', JWT_SCOPES_MAP: map },
      { roles: ['Reader of all', 'admin', 'toString', 7] },
      ['items:read', 'posts:read'],
    ],
    ['own names alone', { JWT_SCOPES_MAP: map }, { scope: '__proto__ constructor' }, ['self']],
  ];
  const databaseUrl = (await testService(t)).databaseUrl;
  for (const [says, env, more, scopes] of some(rows, 4)) {
    const settings = { AUTH: 'bearer', ISSUER: issuer.url, AUDIENCE: 'api', DATABASE_URL: databaseUrl };
    const service = await testService(t, { ...settings, ...env });
    const response = await whoami(service, await token(more));
    t.same([...response.json.scopes].sort(), [...scopes].sort(), says);
  }
});
