import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { NOBODY, type Principal } from '../auth/principal.js';
import { rateLimited } from '../errors/caller-errors.js';
import { noSuchPath } from '../errors/request-errors.js';
import { unavailable } from '../errors/service-errors.js';
import type { Reply } from '../http/reply.js';
import type { Handler } from '../http/request.js';
import { type Match, selectAction } from '../http/router.js';
import type { Target } from '../transport/request-target.js';
import type { Version } from '../versions/supported.js';
import type { RequestContext } from './context.js';
import { authRequestOf, clientOf, readBytesOnce } from './identify.js';
import { finish, respond } from './respond.js';

/** The response to OPTIONS. */
export function optionsReply({ req, options }: RequestContext, match: Match): Reply {
  const { allow, acceptFields, preflightAllow } = match;
  const preflight = options.cors?.preflight(req.headers, preflightAllow) ?? [];
  return { status: 204, headers: ['Allow', allow, ...acceptFields, ...preflight] };
}

/** The 503 of all but the endpoints that are always available. */
export const inMaintenance = () => unavailable('The service is in maintenance.', 60);

/** Counts a request against the rate limit of its principal, or of its address without a credential. Throws 429. */
export async function countRequest(context: RequestContext, principal: Principal): Promise<void> {
  context.isRateCounted = true;
  const { fields, refusedFor } = await context.options.rateLimit!(clientOf(context, principal));
  context.common.push(...fields);
  if (refusedFor !== undefined) throw rateLimited(refusedFor);
}

/** Responds to a request without a principal, which is counted first. Rejects with 429. */
export async function finishCounted(context: RequestContext, reply: Reply): Promise<void> {
  if (context.options.rateLimit && !isPreflight(context)) await countRequest(context, NOBODY);
  finish(context, reply);
}

/** A browser sends preflights on its own, so that they count against no limit. */
export function isPreflight({ req, options }: RequestContext): boolean {
  return req.method === 'OPTIONS' && options.cors?.isPreflight(req.headers) === true;
}

/** Has the handler of a route, whose paths have no version, respond to a request. Throws 404, 405, 503, 429, 413, 408. */
export async function runHandler(
  context: RequestContext,
  match: Match,
  handler: Handler,
  pathVersion: Version | undefined,
): Promise<void> {
  const { req, res, options } = context;
  if (pathVersion) throw noSuchPath();
  const target = context.target!;
  const action = selectAction(match, req.method!, target.query);
  if (!action) return finishCounted(context, optionsReply(context, match));
  if (options.state.isInMaintenance && !action.alwaysAvailable) throw inMaintenance();
  if (options.rateLimit) await countRequest(context, NOBODY);
  const body = await readBytesOnce(context);
  const { address } = authRequestOf(context);
  const { params, notAllowed: missing } = match;
  const begin = () => beginResponse(context);
  const reply = await handler({
    req: replayed(req, target, body),
    res,
    begin,
    body,
    params,
    address,
    missing,
  });
  if (reply) respond(context, reply);
}

/** Sets the common fields, and observes when the handler's response ends. */
function beginResponse({ res, common, options, observation }: RequestContext): void {
  res.once('finish', () => observation.end(res.statusCode));
  // Does nothing after the end.
  res.once('close', () => observation.abort('left', res.headersSent ? res.statusCode : undefined));
  for (let at = 0; at < common.length; at += 2) res.setHeader(common[at]!, common[at + 1]!);
  res.setHeader('Cache-Control', 'no-store');
  if (options.state.isDraining) res.shouldKeepAlive = false;
}

/** The request with its body to be read again, and its target in origin-form without the name that a client sent. */
function replayed(req: IncomingMessage, { path, query }: Target, body: Buffer): IncomingMessage {
  const { method, headers, rawHeaders, socket, httpVersion, httpVersionMajor, httpVersionMinor } = req;
  const url = query.text === '' ? path : `${path}?${query.text}`;
  const parts = { method, url, headers, rawHeaders, socket, httpVersion, httpVersionMajor, httpVersionMinor };
  return Object.assign(Readable.from(body.length > 0 ? [body] : []), parts) as unknown as IncomingMessage;
}
