import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as client from 'openid-client';
import { parse } from '../../cli/arguments.js';
import { configOf, type Io, inputText } from '../../cli/io.js';
import { print } from '../../cli/output.js';
import { isLoopback } from '../../config/parsers.js';
import { ExitError, UnavailableError } from '../../errors/exit-error.js';
import { COMMANDS } from './commands.js';

const TIMEOUT_S = 10;

/** How long a user may take. */
const PATIENCE_MS = 10 * 60_000;

/** Prints an access token of a user, who signs in, or with the secret of a client a token of this client. Throws UsageError and ExitError. */
export async function loginCommand(args: string[], io: Io): Promise<void> {
  const { values } = parse(COMMANDS, 'login', '', args);
  const { client: id, 'secret-file': file, scope, json } = values;
  const secret = file === undefined ? undefined : inputText(io, file).trim();
  const authentication = secret === undefined ? client.None() : client.ClientSecretBasic(secret);
  try {
    const config = await open(io, id, values.service, authentication);
    const token =
      secret === undefined
        ? await byBrowser(config, scope ?? 'openid self', io)
        : await client.clientCredentialsGrant(config, scope === undefined ? {} : { scope });
    const { access_token, token_type, expires_in } = token;
    print(io, json, { access_token, token_type, expires_in, scope: token.scope }, `${access_token}\n`);
  } catch (error) {
    throw explained(error);
  }
}

/** Errors of the authorization server and of the connection to it, in one line. */
function explained(error: unknown): unknown {
  if (error instanceof client.ResponseBodyError || error instanceof client.AuthorizationResponseError)
    return new ExitError(`${error.error}: ${error.error_description ?? 'no description'}`);
  if (error instanceof client.WWWAuthenticateChallengeError)
    return new ExitError('invalid_client: the client is unknown, or its secret is wrong');
  if (error instanceof client.ClientError || error instanceof TypeError) {
    const { message, cause } = error as Error & { cause?: { message?: string } };
    return new UnavailableError(`the authorization server cannot be used: ${cause?.message ?? message}`);
  }
  return error;
}

/** The authorization server of the service with these settings, or of `service`, as a client sees it. */
function open(
  io: Io,
  clientId: string,
  service: string | undefined,
  authentication: client.ClientAuth,
): Promise<client.Configuration> {
  const { publicUrl, port } = service === undefined ? configOf(io) : { publicUrl: service, port: 0 };
  const issuer = new URL(publicUrl ?? `http://127.0.0.1:${port}`);
  const execute = isLoopback(issuer.hostname) ? [client.allowInsecureRequests] : [];
  const options = { algorithm: 'oauth2', execute, timeout: TIMEOUT_S } as const;
  return client.discovery(issuer, clientId, undefined, authentication, options);
}

/** The authorization code flow with PKCE; the browser returns to a port of this machine (RFC 8252 section 7.3). */
async function byBrowser(
  config: client.Configuration,
  scope: string,
  { stderr }: Io,
): Promise<client.TokenEndpointResponse> {
  const checks = {
    pkceCodeVerifier: client.randomPKCECodeVerifier(),
    expectedState: client.randomState(),
  };
  const listener = createServer();
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  // Of connections that cannot be accepted.
  listener.on('error', () => undefined);
  const redirect = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/callback`;
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri: redirect,
    scope,
    state: checks.expectedState,
    code_challenge: await client.calculatePKCECodeChallenge(checks.pkceCodeVerifier),
    code_challenge_method: 'S256',
  });
  stderr.write(`Open in a browser: ${url}\n`);
  try {
    const returned = await callbackOf(listener, redirect);
    return await client.authorizationCodeGrant(config, returned, checks);
  } finally {
    listener.close();
    listener.closeAllConnections();
  }
}

/** The address of the first request by which a browser returns. */
function callbackOf(listener: Server, redirect: string): Promise<URL> {
  return new Promise((resolve, reject) => {
    const timer = AbortSignal.timeout(PATIENCE_MS);
    timer.addEventListener('abort', () => reject(new ExitError('no user signed in')));
    listener.on('request', (req, res) => {
      const url = new URL(req.url!, redirect);
      if (url.pathname !== '/callback') return void res.writeHead(404).end();
      res.writeHead(200, { 'Content-Type': 'text/plain', Connection: 'close' });
      res.end('You can close this page and return to the terminal.\n');
      resolve(url);
    });
  });
}
