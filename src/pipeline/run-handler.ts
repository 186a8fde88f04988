import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { NOBODY } from '../auth/principal.js';
import { noSuchPath } from '../errors/request-errors.js';
import type { Handler } from '../http/request.js';
import { type Match, selectAction } from '../http/router.js';
import type { Target } from '../transport/request-target.js';
import type { Version } from '../versions/supported.js';
import { countRequest, finishCounted, inMaintenance, optionsReply } from './common-stages.js';
import type { RequestContext } from './context.js';
import { authRequestOf, readBytesOnce } from './identify.js';
import { respond } from './respond.js';

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
  const { params } = match;
  const begin = () => beginResponse(context);
  const reply = await handler({ req: replayed(req, target, body), res, begin, body, params, address });
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
