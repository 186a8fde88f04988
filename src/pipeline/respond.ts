import { STRANGER } from '../auth/principal.js';
import { knownProblem } from '../db/database-errors.js';
import { Problem } from '../errors/problem.js';
import { beyond, internal } from '../errors/service-errors.js';
import { probableVersion } from '../http/api-version.js';
import type { Coding } from '../http/content-coding.js';
import { acceptsProblemJson } from '../http/content-negotiation.js';
import { type DocumentForm, type Rendered, render } from '../http/problem-body.js';
import {
  type Bytes,
  type Documents,
  type Pending,
  piecesOf,
  type Reply,
  type Rows,
  withoutField,
} from '../http/reply.js';
import { prefersPage } from '../http/request.js';
import { RESPONSES } from '../limits/byte-budget.js';
import type { Abort } from '../telemetry/request-observer.js';
import { pathOf } from '../telemetry/request-path.js';
import { BodyAborted } from '../transport/body-stream.js';
import { lingerOnClose } from '../transport/connections.js';
import { arrange } from '../transport/copy-rows.js';
import { staysUnread } from '../transport/request-body.js';
import type { Target } from '../transport/request-target.js';
import { ReaderGone, sendStream } from '../transport/response-stream.js';
import {
  type CompleteReply,
  LARGE_BODY_BYTES,
  send,
  sendHead,
  sendLive,
} from '../transport/response-writer.js';
import { DEFAULT_VERSION } from '../versions/supported.js';
import { codingOf, compressed, withCoding } from './compression.js';
import type { RequestContext } from './context.js';
import { clientOf, isPageRequest } from './identify.js';

/** Responds with the reply of an action: at once, as a stream, or when a pending reply is ready. */
export function respond(context: RequestContext, reply: Reply): void {
  const { req, res, options, observation } = context;
  const { content } = reply;
  // A body has at least as many bytes as characters.
  const isLarge = reply.body !== undefined && reply.body.length > LARGE_BODY_BYTES / 3;
  if (content === undefined) return finish(context, isLarge ? orTooLarge(context, reply) : reply);
  switch (content.kind) {
    case 'pending':
      return detach(context, respondWhenReady(context, content));
    case 'live':
      if (req.method === 'HEAD') sendHead(res, reply, fieldsOf(context, reply, options.state.isDraining));
      else sendLive(res, reply, content, fieldsOf(context, reply, options.state.isDraining));
      return observation.end(reply.status);
    case 'rows':
    case 'documents':
    case 'bytes': {
      const coding = codingOf(context, reply);
      const coded = coding ? withCoding(reply, coding) : reply;
      if (req.method !== 'HEAD') return detach(context, sendList(context, coded, content, coding));
      sendHead(res, coded, fieldsOf(context, reply, options.state.isDraining));
      return observation.end(reply.status);
    }
  }
}

/** Waits for a reply that is not ready yet. A client that closes its sending half has most likely left: the wait ends at once. */
async function respondWhenReady(context: RequestContext, pending: Pending): Promise<void> {
  const { res, req } = context;
  const disconnected = new AbortController();
  const abort = () => disconnected.abort();
  req.socket.once('end', abort).once('close', abort);
  if (res.destroyed || req.socket.readableEnded) abort();
  try {
    respond(context, await pending.reply(disconnected.signal));
  } finally {
    req.socket.off('end', abort).off('close', abort);
  }
}

/** Continues work that may last long without counting it as a request in flight; it has limits of its own. */
function detach(context: RequestContext, work: Promise<void>): void {
  work.catch((error: unknown) => fail(context, error));
}

/** Sends a file, or the documents of a list, while they are read. */
async function sendList(
  context: RequestContext,
  reply: Reply,
  content: Rows | Documents | Bytes,
  coding: Coding | undefined,
): Promise<void> {
  const { res, observation } = context;
  const headOf = () => {
    const common = fieldsOf(context, reply, context.options.state.isDraining);
    return { status: reply.status, headers: [...common, ...reply.headers] };
  };
  const send = (chunks: AsyncIterable<Buffer | string>) =>
    sendStream(res, headOf, chunks, observation, coding);
  if (content.kind === 'rows') await content.open((rows) => send(arrange(rows, content)), clientOf(context));
  else await send(content.kind === 'bytes' ? content.read() : piecesOf(content));
  observation.end(reply.status);
}

/** The fields of a response besides its own. Without a Cache-Control of its own, a response is not to be stored. */
function fieldsOf({ common }: RequestContext, reply: Reply, closes: boolean): readonly string[] {
  const hasCacheControl = reply.headers.includes('Cache-Control');
  if (hasCacheControl && !closes) return common;
  return [...common, ...(hasCacheControl ? [] : NO_STORE), ...(closes ? ['Connection', 'close'] : [])];
}

const NO_STORE = ['Cache-Control', 'no-store'];

/**
 * The reply, if the process can hold its body. Otherwise a PUT or PATCH that has taken place gets 204 without the
 * record, as with `Prefer: return=minimal`. Throws 503 for any other large body.
 */
function orTooLarge({ req, options }: RequestContext, reply: Reply): Reply {
  const { body = '', status, headers } = reply;
  const bytes = Buffer.byteLength(body);
  if (bytes <= LARGE_BODY_BYTES || RESPONSES.fits(bytes, options.responseBytes)) return reply;
  if (status === 200 && (req.method === 'PUT' || req.method === 'PATCH'))
    return { status: 204, headers: withoutField(headers, 'Content-Type') };
  throw beyond('responses');
}

/** Sends a complete response, compressed if the client accepts that and it is worth it. */
export function finish(context: RequestContext, reply: Reply): void {
  const { req, expectation } = context;
  // The rest of a body that arrives too slowly (408) is not discarded, however short it is.
  const unread = reply.status === 408 || staysUnread(req, expectation === 'continue');
  if (unread) lingerOnClose(req.socket);
  const coding = unread ? undefined : codingOf(context, reply);
  if (coding === undefined) sendComplete(context, reply, unread);
  else detach(context, finishCoded(context, reply, reply.body!, coding));
}

async function finishCoded(
  context: RequestContext,
  reply: Reply,
  body: string,
  coding: Coding,
): Promise<void> {
  const content = await compressed(body, coding);
  if (content) sendComplete(context, { ...withCoding(reply, coding), coded: content }, false);
  else sendComplete(context, reply, false);
}

function sendComplete(context: RequestContext, reply: CompleteReply, unread: boolean): void {
  const { req, res, options, observation } = context;
  const left = res.destroyed;
  const bytes = send(res, reply, fieldsOf(context, reply, unread || options.state.isDraining));
  if (left) return observation.abort('left');
  if (req.method !== 'HEAD') observation.sent = bytes;
  observation.end(reply.status);
}

/**
 * Responds to a request that failed, or closes its connection if there can be no response: at once, except with a page. Never
 * rejects.
 */
export async function fail(context: RequestContext, error: unknown): Promise<void> {
  const { req, options, observation, target } = context;
  // An error without its page still has a response.
  const withoutPage = (failure: unknown) => {
    options.log.warn({ err: failure, ...observation.identity() }, 'an error has no page');
    return undefined;
  };
  try {
    const isShown = target && prefersPage(req.headers.accept);
    const page = isShown ? await pageOf(context, target, error).catch(withoutPage) : undefined;
    respondWithProblem(context, error, page);
  } catch (failure) {
    options.log.error({ err: failure, ...observation.identity() }, 'an error response could not be sent');
    try {
      respondWithProblem(context, internal());
    } catch {
      abortResponse(context, 'fault');
    }
  }
}

function respondWithProblem(context: RequestContext, error: unknown, page?: Rendered): void {
  const { id, req, res, options, observation } = context;
  const { log } = options;
  if (error instanceof BodyAborted) return abortResponse(context, 'body');
  if (error instanceof ReaderGone) return abortResponse(context, error.how);
  const problem = knownProblem(error);
  if (!problem) {
    const { method, url } = req;
    log.error({ err: error, ...observation.identity(), method, path: pathOf(url) }, 'request failed');
  } else if (problem !== error && problem.status >= 503)
    log.warn({ err: error, ...observation.identity() }, problem.message);
  if (!(error instanceof Problem)) observation.fault(error);
  // An incomplete array must not look complete.
  if (res.headersSent) return abortResponse(context, 'fault');
  const shown = problem ?? internal();
  const rendered = page ?? render(shown, id, documentForm(context));
  const scope = problem?.more.scope;
  if (scope !== undefined) rendered.headers.push(...options.challenge(scope));
  finish(context, rendered);
}

/** How the version of the request writes problem documents; undefined: the client gets none. */
function documentForm({ req, served, versions }: RequestContext): DocumentForm | undefined {
  const { version, prefix } = served ?? versions.get(probableVersion(req))!;
  const { isAlwaysProblem, requestId, failures } = version.errors;
  if (!isAlwaysProblem && !acceptsProblemJson(req.headers.accept)) return undefined;
  return { errorsPath: `${prefix}/errors`, requestId, failures };
}

/** An error as a page, for the user who has signed in. Nothing is read while the service refuses for want of something. */
async function pageOf(
  context: RequestContext,
  target: Target,
  error: unknown,
): Promise<Rendered | undefined> {
  const { id, req, options, observation, versions } = context;
  const { headers } = req;
  const problem = knownProblem(error) ?? internal();
  const { status, more } = problem;
  const reads = status < 500 && status !== 429;
  if (reads && observation.principal === STRANGER && isPageRequest(req))
    observation.principal = (await options.session?.(headers.cookie)) ?? STRANGER;
  const { principal } = observation;
  const { version, prefix } = versions.get(DEFAULT_VERSION)!;
  const request = { ...target, id, headers, version, prefix, principal };
  const isNavigation = headers['sec-fetch-mode'] === 'navigate';
  const page = await options.errorPage({ ...request, isNavigation, reads }, problem);
  return page && { status, headers: [...(more.headers ?? []), ...page.headers], body: page.body };
}

/** Closes the connection before or within the response. */
function abortResponse({ res, observation }: RequestContext, reason: Abort): void {
  observation.abort(reason, res.headersSent ? res.statusCode : undefined);
  res.destroy();
}
