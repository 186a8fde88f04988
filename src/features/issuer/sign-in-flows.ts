import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import * as oauth from 'oauth4webapi';
import type { Io } from '../../cli/io.js';
import { ExitError } from '../../errors/exit-error.js';

/** How long a user may take. */
const PATIENCE_MS = 10 * 60_000;

/** Options of requests to an authorization server. */
export interface Options {
  readonly signal: () => AbortSignal;
  readonly [oauth.allowInsecureRequests]: boolean;
}

export interface Session {
  readonly server: oauth.AuthorizationServer;
  readonly client: oauth.Client;
  readonly scope: string;
  readonly options: Options;
}

/** The authorization code flow with PKCE; the browser returns to a port of this machine (RFC 8252 section 7.3). */
export async function byBrowser(
  { server, client, scope, options }: Session,
  { stderr }: Io,
): Promise<oauth.TokenEndpointResponse> {
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const listener = createServer();
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  // Of connections that cannot be accepted.
  listener.on('error', () => undefined);
  const redirect = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/callback`;
  const url = new URL(server.authorization_endpoint!);
  url.search = String(
    new URLSearchParams({
      client_id: client.client_id,
      redirect_uri: redirect,
      response_type: 'code',
      scope,
      state,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    }),
  );
  stderr.write(`Open in a browser: ${url}\n`);
  if (stderr.isTTY) openBrowser(String(url));
  const timer = AbortSignal.timeout(PATIENCE_MS);
  try {
    const returned = await callbackOf(listener, redirect, timer);
    const parameters = oauth.validateAuthResponse(server, client, returned, state);
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      oauth.None(),
      parameters,
      redirect,
      verifier,
      options,
    );
    return await oauth.processAuthorizationCodeResponse(server, client, response);
  } finally {
    listener.close();
    listener.closeAllConnections();
  }
}

function callbackOf(
  listener: ReturnType<typeof createServer>,
  redirect: string,
  timer: AbortSignal,
): Promise<URL> {
  return new Promise((resolve, reject) => {
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

/** The flow for devices without a browser (RFC 8628). */
export async function byDevice(
  { server, client, scope, options }: Session,
  { stderr }: Io,
): Promise<oauth.TokenEndpointResponse> {
  const request = await oauth.deviceAuthorizationRequest(server, client, oauth.None(), { scope }, options);
  const device = await oauth.processDeviceAuthorizationResponse(server, client, request);
  stderr.write(`Open ${device.verification_uri} and enter ${device.user_code}\n`);
  let interval = device.interval ?? 5;
  const end = Date.now() + device.expires_in * 1000;
  while (Date.now() < end) {
    await sleep(interval * 1000);
    const response = await oauth.deviceCodeGrantRequest(
      server,
      client,
      oauth.None(),
      device.device_code,
      options,
    );
    try {
      return await oauth.processDeviceCodeResponse(server, client, response);
    } catch (error) {
      if (!(error instanceof oauth.ResponseBodyError)) throw error;
      if (error.error === 'slow_down') interval += 5;
      else if (error.error !== 'authorization_pending') throw error;
    }
  }
  throw new ExitError('no user signed in');
}

function openBrowser(url: string): void {
  const program = { darwin: 'open', win32: 'explorer' }[process.platform as string] ?? 'xdg-open';
  // Without one, the user opens the address that was printed. Without memory for a process, spawn throws.
  try {
    spawn(program, [url], { stdio: 'ignore', detached: true })
      .on('error', () => undefined)
      .unref();
  } catch {}
}
