import * as client from 'openid-client';
import { type ClientFields, createClient } from '../../../src/features/issuer/clients.js';
import { claimPort } from '../../support/claimed-port.js';
import { byToken, makeUser, PASSWORD } from '../../support/credentials.js';
import { openWithMail } from '../../support/mail-server.js';
import { keyOf, type TestService, testService } from '../../support/service.js';
import type { Constants } from '../../support/settings.js';
import current, { type Test } from '../../support/test.js';
import { until } from '../../support/until.js';
import { type Page, Visitor } from './visitor.js';

/** An address of a native application, which nothing listens on: the visitor stops there. */
export const REDIRECT = 'http://127.0.0.1:7777/callback';

export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

/** The error of a refused grant. */
export const refusal = (error: string) => ({ error }) as never;
export const INVALID_GRANT = refusal('invalid_grant');

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

/** A client that acts for itself. */
export const MACHINE: Partial<ClientFields> = {
  type: 'confidential',
  redirect_uris: [],
  grant_types: ['client_credentials'],
};
/** A client of devices without a browser. */
export const DEVICE: Partial<ClientFields> = { grant_types: [DEVICE_GRANT], redirect_uris: [] };

export interface User {
  readonly id: string;
  readonly email: string;
}

export interface AuthorizationServer {
  readonly service: TestService;
  readonly issuer: string;
  readonly user: User;
  /** Submits a form to an endpoint for clients. */
  readonly post: (
    path: string,
    fields: Readonly<Record<string, string>>,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Posted>;
  /** The status of a request with an access token. */
  readonly statusOf: (token: string, path?: string) => Promise<number>;
  /** Waits until an access token is refused. */
  readonly ends: (token: string) => Promise<unknown>;
  /** A browser in which a user, or the first one, has entered the password on a page of the account. */
  readonly enter: (user?: { readonly email: string }, path?: string, password?: string) => Promise<Entered>;
  /** A further user with the same password. */
  readonly addUser: (email: string, name?: string) => Promise<User>;
  register(
    fields?: Partial<ClientFields>,
  ): Promise<{ readonly id: string; readonly config: client.Configuration }>;
}

export interface Posted {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: Readonly<Record<string, string>>;
}

export interface Entered {
  readonly visitor: Visitor;
  readonly page: Page;
}

/** Submits a form to an endpoint for clients. */
export async function postForm(url: string, fields: Record<string, string>, headers = {}): Promise<Posted> {
  const response = await fetch(url, { method: 'POST', headers, body: new URLSearchParams(fields) });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: text.startsWith('{') ? JSON.parse(text) : {},
  };
}

/** A service that is its own authorization server, with one user. */
export async function authorizationServer(
  t: Test,
  { host = '127.0.0.1', ...env }: Record<string, string> = {},
  constants: Constants = {},
): Promise<AuthorizationServer> {
  const { service, issuer } = await startOnClaimedPort(t, host, env, constants);
  const addUser = (email: string, name = 'Ann'): Promise<User> =>
    makeUser(service, email, { name, password: PASSWORD });
  const user = await addUser('ann@example.org');
  const register = async (fields: Partial<ClientFields> = {}) => {
    const { item: stored, secret } = await createClient(service.db, { ...CLIENT, ...fields });
    const options = { execute: [client.allowInsecureRequests] };
    const config = await client.discovery(new URL(issuer), stored.id, secret, undefined, options);
    return { id: stored.id, config };
  };
  const statusOf = async (token: string, path = '/whoami') =>
    (await service.send('GET', path, { headers: byToken(token) })).status;
  return {
    ...{ service, issuer, user, addUser, register, statusOf },
    post: (path, ...given) => postForm(issuer + path, ...given),
    ends: (token) => until('the token ends', () => statusOf(token), 401),
    enter: async (who = user, path = '/account', password = PASSWORD) => {
      const visitor = new Visitor(issuer);
      return { visitor, page: await visitor.enter(await visitor.open(path), who, password) };
    },
  };
}

/** An authorization server that sends messages. */
export async function serverWithMail(
  t: Test,
  env: Record<string, string> = {},
  constants: Constants = { mailPollMs: 50 },
) {
  const { mail, opened } = await openWithMail(
    t,
    (settings) => authorizationServer(t, { ...settings, ...env }, constants),
    ({ service }) => service,
  );
  return { mail, server: opened };
}

/** An authorization server with a client. */
export async function application(
  t: Test,
  fields: Partial<ClientFields> = {},
  env: Record<string, string> = {},
  constants: Constants = {},
) {
  const server = await authorizationServer(t, env, constants);
  return { ...server, server, ...(await server.register(fields)) };
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
export const secondProcess = (
  t: Test,
  { service, issuer }: Pick<AuthorizationServer, 'service' | 'issuer'>,
  env: Record<string, string> = {},
  constants: Constants = {},
): Promise<TestService> =>
  testService(
    t,
    { AUTH: 'bearer', AUTH_SERVER: 'on', PUBLIC_URL: issuer, DATABASE_URL: service.databaseUrl, ...env },
    constants,
  );

export interface Flow {
  readonly url: URL;
  readonly verifier: string;
  readonly state: string;
  readonly visitor: Visitor;
  /** Opens the page of the request. */
  readonly open: () => Promise<Page>;
  /** Opens the page of the request, and enters the password of a user. */
  readonly enter: (user: { readonly email: string }, password?: string) => Promise<Page>;
  /** Exchanges the code in an address, by another client if `by` says so. */
  readonly redeem: (url: string | URL, by?: client.Configuration) => Promise<Tokens>;
}

export type Tokens = client.TokenEndpointResponse & client.TokenEndpointResponseHelpers;

/** The beginning of the authorization code flow with PKCE. */
export async function begin(
  { issuer }: Pick<AuthorizationServer, 'issuer'>,
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
  const checks = { pkceCodeVerifier: verifier, expectedState: state };
  const open = () => visitor.open(String(url));
  return {
    ...{ url, verifier, state, visitor, open },
    enter: async (user, password) => visitor.enter(await open(), user, password),
    redeem: (returned, by = config) => client.authorizationCodeGrant(by, new URL(returned), checks),
  };
}

/** Signs in and allows what the client requests. Returns where the browser ends. */
export async function consent(
  { visitor, url }: Pick<Flow, 'visitor' | 'url'>,
  user: { email: string },
  password = PASSWORD,
): Promise<Page> {
  let page = await visitor.open(String(url));
  if (/name="password"/.test(page.text)) page = await visitor.enter(page, user, password);
  if (/value="allow"/.test(page.text)) page = await visitor.submit(page, { action: 'allow' });
  return page;
}

/** A code of its own, with what a token request for it needs. */
export async function codeOf(
  server: Pick<AuthorizationServer, 'issuer' | 'user'>,
  id: string,
  config: client.Configuration,
) {
  const flow = await begin(server, config);
  const { searchParams } = new URL((await consent(flow, server.user)).url);
  return {
    ...{ grant_type: 'authorization_code', client_id: id, redirect_uri: REDIRECT },
    ...{ code: searchParams.get('code')!, code_verifier: flow.verifier },
  };
}

/** The whole flow. */
export async function signIn(
  server: Pick<AuthorizationServer, 'issuer' | 'user'>,
  config: client.Configuration,
  parameters: Record<string, string> = {},
  password = PASSWORD,
): Promise<Tokens> {
  const flow = await begin(server, config, parameters);
  const page = await consent(flow, server.user, password);
  if (!new URL(page.url).searchParams.has('iss'))
    throw new Error(`the sign-in ends at ${page.url} with ${page.status}: ${page.text.slice(0, 500)}`);
  return flow.redeem(page.url);
}

/** Connects a device to the account of the user, by a browser; `steps` are what follows the password. */
export async function connectDevice(
  { issuer, user }: Pick<AuthorizationServer, 'issuer' | 'user'>,
  config: client.Configuration,
  scope = 'openid self',
  steps: (page: Page) => readonly Record<string, string>[] = () => [],
): Promise<{ readonly page: Page; readonly tokens: Tokens }> {
  const device = await client.initiateDeviceAuthorization(config, { scope });
  const visitor = new Visitor(issuer);
  let page = await visitor.open(device.verification_uri);
  page = await visitor.submit(page, { user_code: device.user_code });
  page = await visitor.enter(await visitor.submit(page, {}), user);
  for (const step of [...steps(page), { action: 'allow' }]) page = await visitor.submit(page, step);
  return { page, tokens: await client.pollDeviceAuthorizationGrant(config, { ...device, interval: 0.05 }) };
}
