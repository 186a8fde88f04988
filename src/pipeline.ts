import type { IncomingMessage, ServerResponse } from 'node:http';
import { partition } from './auth/partition.js';
import type { Sent } from './auth/scheme.js';
import { problemOf } from './db/sqlstate.js';
import { expectationFailed, internal, Problem, rateLimited, unavailable } from './errors.js';
import type { Exchange, Expectation, PipelineOptions } from './exchange.js';
import { takesProblemJson } from './http/accept.js';
import { BodyAborted, hasBody, readBody, readBytes, staysUnread } from './http/body.js';
import { answerLater } from './http/later.js';
import { lingerOnClose } from './http/linger.js';
import { render } from './http/problem.js';
import { type Reply, send, sendHead, sendLive } from './http/reply.js';
import type { Request } from './http/request.js';
import { requestId } from './http/request-id.js';
import { choose, type Endpoint, type Match, pick } from './http/router.js';
import { ReaderGone, writeRows } from './http/stream.js';
import { ALL_METHODS, readTarget } from './http/target.js';
import { type Retirement, requireVersion, retirementFields, splitVersion } from './http/version.js';
import type { Abort } from './observe/observer.js';
import { pathOf } from './observe/request-facts.js';
import { NOBODY, type Principal, permit } from './principal.js';

export type Pipeline = (req: IncomingMessage, res: ServerResponse, expectation: Expectation) => Promise<void>;

/** The steps of every request, each saying what it may refuse. This is the only place that catches to answer. */
export function createPipeline(options: PipelineOptions): Pipeline {
  const steps = async (exchange: Exchange): Promise<void> => {
    const { req, id, expectation, observation } = exchange;
    try {
      const target = readTarget(req); //                               400, 414, 431, 501
      if (expectation === 'unknown') throw expectationFailed(); //     417
      if (target.path === '*') return await finishCounted(exchange, SERVER_OPTIONS); // 429
      const { path, mounted } = splitVersion(target.path); //          404
      const match = options.router(path); //                           404, 400
      observation.route = match.template;
      version(exchange, mounted, options.retirement); //               400, 410
      const action = pick(match, req.method!); //                      405
      if (!action) return await finishCounted(exchange, optionsReply(exchange, match)); // 429
      if (options.isInMaintenance() && !action.always)
        throw unavailable('The service is in maintenance.', 60); // 503
      observation.identifies();
      const principal = await identify(exchange, action); //           400, 401, 413, 429, 503
      observation.identified(principal);
      if (options.rateLimit && !action.always) await count(exchange, principal); // 429
      const permission = permit(principal, action.needs, match.params); // 403
      const type = choose(action, req.headers.accept); //              406
      const body = await bodyOf(exchange, action); //                  415, 413, 400
      const request: Request = {
        id,
        method: req.method!,
        path,
        params: match.params,
        query: target.query,
        headers: req.headers,
        type,
        principal,
        permission,
        run: undefined,
        body,
      };
      await answer(exchange, await action.run(request));
    } catch (error) {
      if (!options.rateLimit || exchange.counted) fail(exchange, error);
      else fail(exchange, await countFailure(exchange, error));
    }
  };

  return (req, res, expectation) => {
    // Node asks again, at the end of each answer, what to do about a body that nobody has read: 1.1 x the rate.
    if (!hasBody(req)) req.resume();
    const id = requestId(req);
    const { cors } = options;
    const fixed = cors ? [...FIXED, ...cors.fields(req.headers.origin)] : FIXED;
    const observation = options.observer(req, id);
    const common = ['X-Request-Id', id, ...fixed];
    return observation.run(steps, { req, res, id, expectation, options, observation, common });
  };
}

/** What each answer carries: flat and ready, so that an answer copies references and makes no strings. */
const FIXED = ['X-Content-Type-Options', 'nosniff'];
const MOUNTED = ['API-Version', '1', 'Vary', 'Accept'];
const ROOT = ['API-Version', '1', 'Vary', 'Accept, API-Version'];
const SERVER_OPTIONS: Reply = { status: 204, headers: ['Allow', ALL_METHODS] };

function version(exchange: Exchange, mounted: boolean, retirement: Retirement): void {
  exchange.common = [...exchange.common, ...(mounted ? MOUNTED : ROOT)];
  requireVersion(exchange.req.headers['api-version'], mounted);
  if (!retirement.deprecation && !retirement.sunset) return;
  exchange.common = [...exchange.common, ...retirementFields(retirement, Date.now())];
}

/** A preflight (of CORS) needs no credential either: a browser sends none with it. */
function optionsReply({ req, options }: Exchange, { allow, takes }: Match): Reply {
  const preflight = options.cors?.preflight(req.headers, allow) ?? [];
  return { status: 204, headers: ['Allow', allow, ...takes, ...preflight] };
}

/** Not a promise where nobody has to show a credential: that would cost every request a turn of the microtasks. */
function identify(exchange: Exchange, { needs }: Endpoint): Promise<Principal> | Principal {
  const { authenticate } = exchange.options;
  if (!authenticate || needs === 'nothing') return NOBODY;
  return authenticate(sentOf(exchange));
}

function sentOf(exchange: Exchange): Sent {
  exchange.sent ??= exchange.options.present(exchange.req, () => bytesOf(exchange));
  return exchange.sent;
}

/** Counts a request against its principal, or against its address where nobody showed a credential. Throws 429. */
async function count(exchange: Exchange, { scheme, subject }: Principal): Promise<void> {
  exchange.counted = true;
  const key =
    scheme === 'none' ? partition('address', sentOf(exchange).address) : partition('principal', subject);
  const { fields, refusedFor } = await exchange.options.rateLimit!(key);
  exchange.common = [...exchange.common, ...fields];
  if (refusedFor !== undefined) throw rateLimited(refusedFor);
}

/** What answers a request that failed before it was counted: its problem, or the 429 of its address. */
async function countFailure(exchange: Exchange, error: unknown): Promise<unknown> {
  try {
    await count(exchange, NOBODY);
    return error;
  } catch (limited) {
    // A fault of ours has to reach the log, and a client that went away gets no answer.
    return error instanceof Problem ? limited : error;
  }
}

async function finishCounted(exchange: Exchange, reply: Reply): Promise<void> {
  if (exchange.options.rateLimit) await count(exchange, NOBODY);
  finish(exchange, reply);
}

function bodyOf(exchange: Exchange, { takes }: Endpoint) {
  return takes && readBody(exchange.req, takes, () => bytesOf(exchange));
}

/** The body, read once, by whoever needs it first: the check of a signature, or the action's. */
function bytesOf(exchange: Exchange): Promise<Buffer> {
  const { req, res, expectation, options, observation } = exchange;
  const proceed = () => expectation === 'continue' && res.writeContinue();
  exchange.bytes ??= readBytes(req, res, options, proceed, observation);
  return exchange.bytes;
}

function answer(exchange: Exchange, reply: Reply): Promise<void> | void {
  const { req, res, options, observation } = exchange;
  if (reply.later)
    return apart(
      exchange,
      answerLater(res, reply.later, (late) => answer(exchange, late)),
    );
  if (!reply.stream && !reply.live) return finish(exchange, reply);
  if (reply.stream && req.method !== 'HEAD') return apart(exchange, stream(exchange, reply, reply.stream));
  const write = req.method === 'HEAD' ? sendHead : sendLive;
  write(res, reply, closing(exchange, options.isDraining()));
  observation.end(reply.status);
}

/**
 * What goes on for long, a whole list for a slow reader or a wait for events, takes none of the places of requests: it
 * has a bound of its own.
 */
function apart(exchange: Exchange, work: Promise<void>): void {
  work.catch((error: unknown) => fail(exchange, error));
}

async function stream(exchange: Exchange, reply: Reply, open: NonNullable<Reply['stream']>): Promise<void> {
  const { res, options, observation } = exchange;
  await open((rows) => {
    const common = closing(exchange, options.isDraining());
    return writeRows(res, reply, common, rows, options.streamStallMs, observation);
  });
  observation.end(reply.status);
}

/** What goes out with an answer that begins now. */
function closing({ common, observation }: Exchange, closes: boolean): readonly string[] {
  const timing = observation.timing();
  if (!closes && timing.length === 0) return common;
  return [...common, ...timing, ...(closes ? ['Connection', 'close'] : [])];
}

function finish(exchange: Exchange, reply: Reply): void {
  const { req, res, expectation, options, observation } = exchange;
  const unread = staysUnread(req, expectation === 'continue');
  if (unread) lingerOnClose(req.socket);
  const left = res.destroyed;
  const bytes = send(res, reply, closing(exchange, unread || options.isDraining()));
  if (left) return observation.abort('left');
  if (req.method !== 'HEAD') observation.sent = bytes;
  observation.end(reply.status);
}

function fail(exchange: Exchange, error: unknown): void {
  const { id, req, res, options, observation } = exchange;
  const { log } = options;
  if (error instanceof BodyAborted) return breakOff(exchange, 'body');
  if (error instanceof ReaderGone) return breakOff(exchange, error.how);
  const problem = error instanceof Problem ? error : problemOf(error);
  if (!problem) {
    const { method, url } = req;
    log.error({ err: error, ...observation.identity(), method, path: pathOf(url) }, 'request failed');
  } else if (problem !== error && problem.status >= 503)
    log.warn({ err: error, ...observation.identity() }, problem.message);
  if (!(error instanceof Problem)) observation.fault(error);
  // Half an array must not look like a whole one.
  if (res.headersSent) return breakOff(exchange, 'fault');
  const rendered = render(problem ?? internal(), takesProblemJson(req.headers.accept), id);
  const scope = problem?.more.scope;
  if (scope !== undefined) rendered.headers.push(...options.challenge(scope));
  finish(exchange, rendered);
}

/** Ends an exchange without an answer, or within it. */
function breakOff({ res, observation }: Exchange, why: Abort): void {
  observation.abort(why, res.headersSent ? res.statusCode : undefined);
  res.destroy();
}
