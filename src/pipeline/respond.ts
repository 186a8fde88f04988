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

/** Gives the answer that an action has found, or begins what gives it later. */
export function respond(context: RequestContext, reply: Reply): void {
  const { req, res, options, observation } = context;
  if (reply.pending)
    return apart(
      context,
      respondWhenReady(res, reply.pending, (late) => respond(context, late)),
    );
  if (!reply.stream && !reply.live) return finish(context, fitInMemory(context, reply));
  if (reply.stream && req.method !== 'HEAD') return apart(context, stream(context, reply, reply.stream));
  const write = req.method === 'HEAD' ? sendHead : sendLive;
  write(res, reply, fieldsOf(context, reply, options.isDraining()));
  observation.end(reply.status);
}

/**
 * What goes on for long, a whole list for a slow reader or a wait for events, takes none of the places of requests: it
 * has a bound of its own.
 */
function apart(context: RequestContext, work: Promise<void>): void {
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

/**
 * The fields that go out with a response besides its own. A response may depend on the credential, so that caches
 * store only what says so itself.
 */
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
 * The response, if the process can hold its body. Otherwise a large record that PUT or PATCH wrote is left out, as
 * `Prefer: return=minimal` leaves it out. Throws 503 for any other large body.
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

/** Gives a whole answer. */
export function finish(context: RequestContext, reply: Reply): void {
  const { req, res, expectation, options, observation } = context;
  // The rest of a body that comes too slowly (408) is not waited for, however short it is.
  const unread = reply.status === 408 || staysUnread(req, expectation === 'continue');
  if (unread) lingerOnClose(req.socket);
  const left = res.destroyed;
  const bytes = send(res, reply, fieldsOf(context, reply, unread || options.isDraining()));
  if (left) return observation.abort('left');
  if (req.method !== 'HEAD') observation.sent = bytes;
  observation.end(reply.status);
}

/** Answers a request that failed with its problem, or breaks it off when it can have no answer. Never throws. */
export function fail(context: RequestContext, error: unknown): void {
  const { options, observation } = context;
  try {
    respondWithProblem(context, error);
  } catch (fault) {
    options.log.error({ err: fault, ...observation.identity() }, 'a problem could not be answered');
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
  // Half an array must not look like a whole one.
  if (res.headersSent) return abortResponse(context, 'fault');
  const rendered = render(problem ?? internal(), acceptsProblemJson(req.headers.accept), id);
  const scope = problem?.more.scope;
  if (scope !== undefined) rendered.headers.push(...options.challenge(scope));
  finish(context, rendered);
}

/** Ends an exchange without an answer, or within it. */
function abortResponse({ res, observation }: RequestContext, why: Abort): void {
  observation.abort(why, res.headersSent ? res.statusCode : undefined);
  res.destroy();
}
