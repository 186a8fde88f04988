import type { IncomingMessage } from 'node:http';
import { NOBODY, type Principal, STRANGER } from '../auth/principal.js';
import { type AuthRequest, hasCredential } from '../auth/scheme.js';
import { prefersPage } from '../http/request.js';
import type { OpenEndpoint } from '../http/router.js';
import { clientKey } from '../limits/rate-limit.js';
import { readBytes } from '../transport/request-body.js';
import type { RequestContext } from './context.js';

/**
 * The caller. Synchronous if no credential is required. `isForm`: a page submits a form. The cookie of a session identifies
 * the caller of pages and forms alone, so that it never authorizes a request of a script for data.
 */
export function identify(
  context: RequestContext,
  action: Pick<OpenEndpoint, 'requires' | 'requiresFilter' | 'streams'>,
  isForm: boolean,
): Promise<Principal> | Principal {
  const { authenticate, session } = context.options;
  const { requires } = action;
  if (!authenticate) return NOBODY;
  const isPage = isForm || isPageRequest(context.req);
  if (!isPage && requires === 'nothing' && !mayNameCaller(context.req)) return STRANGER;
  const isOfMany = writesMany(context.req, action);
  const authRequest = { ...authRequestOf(context), ...(isOfMany && { reason: OF_MANY }) };
  const isOptional = !isOfMany && (requires === 'nothing' || requires === 'optional');
  const others = () => (isOptional && !hasCredential(authRequest) ? STRANGER : authenticate(authRequest));
  const found = isPage && !hasCredential(authRequest) ? session?.(authRequest.headers.cookie) : undefined;
  return found ? found.then((principal) => principal ?? others()) : others();
}

/** Whether the filter of a request may name its caller: that of QUERY is in the body. */
const mayNameCaller = ({ method, url = '' }: IncomingMessage): boolean =>
  method === 'QUERY' || /(?:\$|%24)caller/i.test(url);

const OF_MANY = 'A request that writes many records needs a credential.';

/** Whether a request writes many records, which no limit of the requests of an address bounds. */
function writesMany(
  { method, headers }: IncomingMessage,
  { requiresFilter, streams = [] }: Pick<OpenEndpoint, 'requiresFilter' | 'streams'>,
): boolean {
  const type = headers['content-type']?.toLowerCase() ?? '';
  return (requiresFilter === true && method !== 'PUT') || streams.some((each) => type.startsWith(each));
}

/** Whether a browser opens a page: a script of a page names another destination (Fetch Metadata). */
export function isPageRequest({ method, headers }: IncomingMessage): boolean {
  if ((method !== 'GET' && method !== 'HEAD') || !prefersPage(headers.accept)) return false;
  const destination = headers['sec-fetch-dest'];
  return destination === undefined || destination === 'document';
}

/** Whether a page submits a form: browsers name its origin. Programs that send this media type get 415. */
export function isFormPost({ method, headers }: IncomingMessage): boolean {
  return (
    method === 'POST' &&
    headers['content-type']?.startsWith('application/x-www-form-urlencoded') === true &&
    (headers.origin !== undefined || headers['sec-fetch-site'] !== undefined)
  );
}

/** The parts of a request that may carry a credential. */
export function authRequestOf(context: RequestContext): AuthRequest {
  context.authRequest ??= context.options.readAuthRequest(context.req, () => readBytesOnce(context));
  return context.authRequest;
}

/** The client by which requests are counted: the principal, or the address without a credential. */
export const clientOf = (
  context: RequestContext,
  { scheme, subject } = context.observation.principal,
): string =>
  scheme === 'none' ? clientKey('address', authRequestOf(context).address) : clientKey('principal', subject);

/** The bytes of the body. They are read once: for the check of a signature, or for the action. */
export function readBytesOnce(context: RequestContext): Promise<Buffer> {
  const { req, res, options, observation } = context;
  const sender = () => ({ address: authRequestOf(context).address, proceed: () => proceed(context) });
  context.bytes ??= readBytes(req, res, options, sender, observation);
  return context.bytes;
}

/** Sends 100 Continue if the client waits for it. */
export function proceed({ res, expectation }: RequestContext): void {
  if (expectation === 'continue') res.writeContinue();
}
