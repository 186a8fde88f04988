import { problemOf } from '../db/sqlstate.js';
import { internal } from '../errors.js';
import { acceptsProblemJson } from '../http/content-negotiation.js';
import { render } from '../http/problem-body.js';
import type { Reply } from '../http/reply.js';
import { outOfResponseMemory } from '../limit-errors.js';
import { fitsResponseMemory } from '../limits/response-memory.js';
import { Problem } from '../problem.js';
import { pathOf } from '../telemetry/request-attributes.js';
import type { Abort } from '../telemetry/request-observer.js';
import { ReaderGone, writeRows } from '../transport/array-stream.js';
import { BodyAborted } from '../transport/incomplete-body.js';
import { lingerOnClose } from '../transport/lingering-close.js';
import { respondWhenReady } from '../transport/long-poll.js';
import { staysUnread } from '../transport/request-body.js';
import { LARGE_BODY_BYTES, send, sendHead, sendLive } from '../transport/response-writer.js';
import type { RequestContext } from './context.js';

/** Responds with the reply of an action: at once, as a stream, or when a pending reply is ready. */
export function respond(context: RequestContext, reply: Reply): void {
  const { req, res, options, observation } = context;
  if (reply.pending)
    return detach(
      context,
      respondWhenReady(res, reply.pending, (ready) => respond(context, ready)),
    );
  if (!reply.stream && !reply.live) return finish(context, fitInMemory(context, reply));
  if (reply.stream && req.method !== 'HEAD') return detach(context, stream(context, reply, reply.stream));
  const write = req.method === 'HEAD' ? sendHead : sendLive;
  write(res, reply, fieldsOf(context, reply, options.isDraining()));
  observation.end(reply.status);
}

/** Continues work that may last long without counting it as a request in flight; it has limits of its own. */
function detach(context: RequestContext, work: Promise<void>): void {
  work.catch((error: unknown) => fail(context, error));
}

async function stream(
  context: RequestContext,
  reply: Reply,
  open: NonNullable<Reply['stream']>,
): Promise<void> {
  const { res, options, observation } = context;
  await open((rows) => {
    const common = fieldsOf(context, reply, options.isDraining());
    return writeRows(res, reply, common, rows, options.streamStallMs, observation);
  });
  observation.end(reply.status);
}

/** The fields of a response besides its own. Without a Cache-Control of its own, a response is not to be stored. */
function fieldsOf({ common, observation }: RequestContext, reply: Reply, closes: boolean): readonly string[] {
  const timing = observation.timing();
  const hasCacheControl = reply.headers.includes('Cache-Control');
  if (hasCacheControl && !closes && timing.length === 0) return common;
  return [
    ...common,
    ...(hasCacheControl ? [] : NO_STORE),
    ...timing,
    ...(closes ? ['Connection', 'close'] : []),
  ];
}

const NO_STORE = ['Cache-Control', 'no-store'];

/**
 * The reply, if the process can hold its body. Otherwise a PUT or PATCH that has taken place gets 204 without the
 * record, as with `Prefer: return=minimal`. Throws 503 for any other large body.
 */
function fitInMemory({ req, options }: RequestContext, reply: Reply): Reply {
  const { body = '', status, headers } = reply;
  // A body has at least as many bytes as characters.
  if (body.length <= LARGE_BODY_BYTES / 3) return reply;
  const bytes = Buffer.byteLength(body);
  if (bytes <= LARGE_BODY_BYTES || fitsResponseMemory(bytes, options.responseBytes)) return reply;
  if (status === 200 && (req.method === 'PUT' || req.method === 'PATCH'))
    return { status: 204, headers: withoutField(headers, 'Content-Type') };
  throw outOfResponseMemory();
}

function withoutField(headers: readonly string[], name: string): string[] {
  return headers.filter((_, at) => headers[at - (at % 2)] !== name);
}

/** Sends a complete response. */
export function finish(context: RequestContext, reply: Reply): void {
  const { req, res, expectation, options, observation } = context;
  // The rest of a body that arrives too slowly (408) is not discarded, however short it is.
  const unread = reply.status === 408 || staysUnread(req, expectation === 'continue');
  if (unread) lingerOnClose(req.socket);
  const left = res.destroyed;
  const bytes = send(res, reply, fieldsOf(context, reply, unread || options.isDraining()));
  if (left) return observation.abort('left');
  if (req.method !== 'HEAD') observation.sent = bytes;
  observation.end(reply.status);
}

/** Responds to a request that failed, or closes its connection if there can be no response. Never throws. */
export function fail(context: RequestContext, error: unknown): void {
  const { options, observation } = context;
  try {
    respondWithProblem(context, error);
  } catch (failure) {
    options.log.error({ err: failure, ...observation.identity() }, 'an error response could not be sent');
    try {
      respondWithProblem(context, internal());
    } catch {
      abortResponse(context, 'fault');
    }
  }
}

function respondWithProblem(context: RequestContext, error: unknown): void {
  const { id, req, res, options, observation } = context;
  const { log } = options;
  if (error instanceof BodyAborted) return abortResponse(context, 'body');
  if (error instanceof ReaderGone) return abortResponse(context, error.how);
  const problem = error instanceof Problem ? error : problemOf(error);
  if (!problem) {
    const { method, url } = req;
    log.error({ err: error, ...observation.identity(), method, path: pathOf(url) }, 'request failed');
  } else if (problem !== error && problem.status >= 503)
    log.warn({ err: error, ...observation.identity() }, problem.message);
  if (!(error instanceof Problem)) observation.fault(error);
  // An incomplete array must not look complete.
  if (res.headersSent) return abortResponse(context, 'fault');
  const rendered = render(problem ?? internal(), acceptsProblemJson(req.headers.accept), id);
  const scope = problem?.more.scope;
  if (scope !== undefined) rendered.headers.push(...options.challenge(scope));
  finish(context, rendered);
}

/** Closes the connection before or within the response. */
function abortResponse({ res, observation }: RequestContext, reason: Abort): void {
  observation.abort(reason, res.headersSent ? res.statusCode : undefined);
  res.destroy();
}
