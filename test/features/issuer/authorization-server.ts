import * as client from 'openid-client';
import { type ClientFields, createClient } from '../../../src/features/issuer/clients.js';
import { claimPort } from '../../support/claimed-port.js';
import { keyOf, type TestService, testService } from '../../support/service.js';
import type { Constants } from '../../support/settings.js';
import current, { type Test } from '../../support/test.js';
import { type Page, Visitor } from './visitor.js';

export const PASSWORD = 'correct horse battery staple';
/** An address of a native application, which nothing listens on: the visitor stops there. */
export const REDIRECT = 'http://127.0.0.1:7777/callback';

export const CLIENT: ClientFields = {
  name: 'Reader',
  type: 'public',
  grant_types: ['authorization_code', 'refresh_token'],
  redirect_uris: ['http://127.0.0.1/callback'],
  post_logout_redirect_uris: [],
  id_token_signed_response_alg: 'ES256',
  scopes: ['self', 'items:read'],
  token_format: 'jwt',
  first_party: false,
};

export interface User {
  readonly id: string;
  readonly email: string;
}

export interface AuthorizationServer {
  readonly service: TestService;
  readonly issuer: string;
  readonly user: User;
  /** A further user with the same password. */
  readonly addUser: (email: string, name?: string) => Promise<User>;
  register(
    fields?: Partial<ClientFields>,
  ): Promise<{ readonly id: string; readonly config: client.Configuration }>;
}

/** A service that is its own authorization server, with one user. */
export async function authorizationServer(
  t: Test,
  { host = '127.0.0.1', ...env }: Record<string, string> = {},
  constants: Constants = {},
): Promise<AuthorizationServer> {
  const { service, issuer } = await startOnClaimedPort(t, host, env, constants);
  const users = service.collections.find(({ resource }) => resource.hasPasswords)!;
  const addUser = async (email: string, name = 'Ann'): Promise<User> => {
    const { id } = await users.create(users.check({ email, name, password: PASSWORD }));
    return { id, email };
  };
  const user = await addUser('ann@example.org');
  const register = async (fields: Partial<ClientFields> = {}) => {
    const { item: stored, secret } = await createClient(service.db, { ...CLIENT, ...fields });
    const options = { execute: [client.allowInsecureRequests] };
    const config = await client.discovery(new URL(issuer), stored.id, secret, undefined, options);
    return { id: stored.id, config };
  };
  return { service, issuer, user, addUser, register };
}

/** The ports that each file has claimed, and that none of its tests uses now, by the settings of their services. */
const free = new WeakMap<Test, Map<string, number[]>>();

/**
 * The issuer's name contains the port, so it is chosen first. Tests of a file with the same settings have one port, and
 * therefore one service, one after the other.
 */
async function startOnClaimedPort(t: Test, host: string, env: Record<string, string>, constants: Constants) {
  const port = env.PORT ?? (await sharedPort(t, keyOf({ ...env, host }, constants)));
  const issuer = `http://${host}:${port}`;
  const settings = { AUTH: 'bearer', AUTH_SERVER: 'on', PORT: String(port), PUBLIC_URL: issuer };
  return { service: await testService(t, { ...settings, ...env }, constants), issuer };
}

async function sharedPort(t: Test, settings: string): Promise<number> {
  const ofFile = free.get(current) ?? new Map<string, number[]>();
  free.set(current, ofFile);
  const ports = ofFile.get(settings) ?? [];
  ofFile.set(settings, ports);
  const port = ports.pop() ?? (await claimPort(current));
  t.teardown(() => ports.push(port));
  return port;
}

/** Another process of the same service, with the same database. */
export const secondProcess = (t: Test, { service, issuer }: AuthorizationServer): Promise<TestService> =>
  testService(t, {
    AUTH: 'bearer',
    AUTH_SERVER: 'on',
    PUBLIC_URL: issuer,
    DATABASE_URL: service.databaseUrl,
  });

export interface Flow {
  readonly url: URL;
  readonly verifier: string;
  readonly state: string;
  readonly visitor: Visitor;
}

/** The beginning of the authorization code flow with PKCE. */
export async function begin(
  { issuer }: AuthorizationServer,
  config: client.Configuration,
  parameters: Record<string, string> = {},
  visitor = new Visitor(issuer),
): Promise<Flow> {
  const verifier = client.randomPKCECodeVerifier();
  const state = client.randomState();
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri: REDIRECT,
    scope: 'openid self offline_access',
    prompt: 'consent',
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
    ...parameters,
  });
  if (parameters.prompt === '') url.searchParams.delete('prompt');
  return { url, verifier, state, visitor };
}

/** Signs in and allows what the client requests. Returns where the browser ends. */
export async function consent(
  { visitor, url }: Pick<Flow, 'visitor' | 'url'>,
  user: { email: string },
  password = PASSWORD,
): Promise<Page> {
  let page = await visitor.open(String(url));
  if (/name="password"/.test(page.text))
    page = await visitor.submit(page, { email: user.email, password, action: 'sign-in' });
  if (/value="allow"/.test(page.text)) page = await visitor.submit(page, { action: 'allow' });
  return page;
}

/** The whole flow. */
export async function signIn(
  server: AuthorizationServer,
  config: client.Configuration,
  parameters: Record<string, string> = {},
  password = PASSWORD,
): Promise<client.TokenEndpointResponse & client.TokenEndpointResponseHelpers> {
  const flow = await begin(server, config, parameters);
  const page = await consent(flow, server.user, password);
  if (!new URL(page.url).searchParams.has('iss'))
    throw new Error(`the sign-in ends at ${page.url} with ${page.status}: ${page.text.slice(0, 500)}`);
  return client.authorizationCodeGrant(config, new URL(page.url), {
    pkceCodeVerifier: flow.verifier,
    expectedState: flow.state,
  });
}
