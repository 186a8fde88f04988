import * as oauth from 'oauth4webapi';
import { parse } from '../../cli/arguments.js';
import { configOf, type Io, inputText, UsageError } from '../../cli/io.js';
import { print } from '../../cli/output.js';
import { isLoopback } from '../../config/parsers.js';
import { ExitError, UnavailableError } from '../../errors/exit-error.js';
import { COMMANDS } from './commands.js';
import { byBrowser, byDevice, type Options, type Session } from './sign-in-flows.js';

const TIMEOUT_MS = 10_000;

/** Signs a user in and prints an access token. Throws UsageError and ExitError. */
export async function loginCommand(args: string[], io: Io): Promise<void> {
  const { values } = parse(COMMANDS, 'login', '', args);
  await printToken(io, values.json, async () => {
    const session = await open(io, values.client, values.scope ?? 'openid self', values.service);
    return values.device ? await byDevice(session, io) : await byBrowser(session, io);
  });
}

/** Prints an access token of a client. Throws UsageError and ExitError. */
export async function tokenCommand(args: string[], io: Io, secretInEnv: string | undefined): Promise<void> {
  const { values } = parse(COMMANDS, 'token', '', args);
  const file = values['secret-file'];
  const secret = file === undefined ? secretInEnv : inputText(io, file).trim();
  if (secret === undefined)
    throw new UsageError('token needs --client, and CLIENT_SECRET or --secret-file', 'token');
  await printToken(io, values.json, async () => {
    const { server, client, scope, options } = await open(
      io,
      values.client,
      values.scope ?? '',
      values.service,
    );
    const parameters = scope === '' ? {} : { scope };
    const authentication = oauth.ClientSecretBasic(secret);
    const response = await oauth.clientCredentialsGrantRequest(
      server,
      client,
      authentication,
      parameters,
      options,
    );
    return oauth.processClientCredentialsResponse(server, client, response);
  });
}

async function printToken(
  io: Io,
  json: boolean,
  request: () => Promise<oauth.TokenEndpointResponse>,
): Promise<void> {
  try {
    const { access_token, token_type, expires_in, scope } = await request();
    print(io, json, { access_token, token_type, expires_in, scope }, `${access_token}\n`);
  } catch (error) {
    throw explained(error);
  }
}

/** Errors of the authorization server and of the connection to it, in one line. */
function explained(error: unknown): unknown {
  if (error instanceof oauth.ResponseBodyError || error instanceof oauth.AuthorizationResponseError)
    return new ExitError(`${error.error}: ${error.error_description ?? 'no description'}`);
  if (error instanceof oauth.WWWAuthenticateChallengeError)
    return new ExitError('invalid_client: the client is unknown, or its secret is wrong');
  if (
    error instanceof oauth.OperationProcessingError ||
    error instanceof TypeError ||
    error instanceof DOMException
  ) {
    const { message, cause } = error as Error & { cause?: { message?: string } };
    return new UnavailableError(`the authorization server cannot be used: ${cause?.message ?? message}`);
  }
  return error;
}

async function open(io: Io, clientId: string, scope: string, service: string | undefined): Promise<Session> {
  const issuer = new URL(service ?? addressOf(io));
  const options: Options = {
    signal: () => AbortSignal.timeout(TIMEOUT_MS),
    [oauth.allowInsecureRequests]: isLoopback(issuer.hostname),
  };
  const response = await oauth.discoveryRequest(issuer, { ...options, algorithm: 'oauth2' });
  const server = await oauth.processDiscoveryResponse(issuer, response);
  return { server, client: { client_id: clientId }, scope, options };
}

/** Where the service with these settings is. */
function addressOf(io: Io): string {
  const { publicUrl, port } = configOf(io);
  return publicUrl ?? `http://127.0.0.1:${port}`;
}
