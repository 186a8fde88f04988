import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Authenticate } from './auth/authenticate.js';
import { partition } from './auth/partition.js';
import type { Sent } from './auth/scheme.js';
import { problemOf } from './db/sqlstate.js';
import { expectationFailed, internal, Problem, rateLimited, unavailable } from './errors.js';
import { takesProblemJson } from './http/accept.js';
import { BodyAborted, hasBody, readBody, readBytes } from './http/body.js';
import type { Cors } from './http/cors.js';
import { lingerOnClose } from './http/linger.js';
import { render } from './http/problem.js';
import type { RateLimiter } from './http/rate-limit.js';
import { type Reply, send, sendHead } from './http/reply.js';
import type { Request } from './http/request.js';
import { choose, type Endpoint, type Match, pick, type Router } from './http/router.js';
import { ReaderGone, writeRows } from './http/stream.js';
import { ALL_METHODS, readTarget } from './http/target.js';
import { type Retirement, requireVersion, retirementFields, splitVersion } from './http/version.js';
import type { Log } from './log.js';
import { NOBODY, type Principal, permit } from './principal.js';

export interface PipelineOptions {
  readonly router: Router;
  readonly log: Log;
  /** Bytes. */
  readonly bodyLimit: number;
  readonly streamStallMs: number;
  readonly retirement: Retirement;
  /** Undefined: nobody has to show a credential. */
  readonly authenticate: Authenticate | undefined;
  /** The fields that go with a 403. */
  readonly challenge: (scope: string) => readonly string[];
  /** What of a request may carry a credential. */
  readonly present: (req: IncomingMessage, body: () => Promise<Buffer>) => Sent;
  /** Undefined: pages of other origins are not let in. */
  readonly cors: Cors | undefined;
  /** Undefined: nobody's requests are counted. */
  readonly rateLimit: RateLimiter | undefined;
  /** Whether all but what watches the service is to be answered 503. */
  readonly isInMaintenance: () => boolean;
  /** Whether the service is stopping: then each answer closes its connection. */
  readonly isDraining: () => boolean;
}

/** What the client expects before it sends its body: nothing, 100 Continue, or something we cannot meet. */
export type Expectation = 'none' | 'continue' | 'unknown';

export type Pipeline = (req: IncomingMessage, res: ServerResponse, expectation: Expectation) => Promise<void>;

/** One request and its answer on their way through the steps. */
interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly id: string;
  readonly expectation: Expectation;
  readonly options: PipelineOptions;
  /** Fields that the answer carries whatever it is. */
  common: readonly string[];
  bytes?: Promise<Buffer>;
  sent?: Sent;
  counted?: boolean;
}

/** The steps of every request, each saying what it may refuse. This is the only place that catches to answer. */
export function createPipeline(options: PipelineOptions): Pipeline {
  return async (req, res, expectation) => {
    // Node asks again, at the end of each answer, what to do about a body that nobody has read: 1.1 x the rate.
    if (!hasBody(req)) req.resume();
    const id = requestId(req);
    const { cors } = options;
    const fixed = cors ? [...FIXED, ...cors.fields(req.headers.origin)] : FIXED;
    const exchange: Exchange = { req, res, id, expectation, options, common: ['X-Request-Id', id, ...fixed] };
    try {
      const target = readTarget(req); //                               400, 414, 431, 501
      if (expectation === 'unknown') throw expectationFailed(); //     417
      if (target.path === '*') return await finishCounted(exchange, SERVER_OPTIONS); // 429
      const { path, mounted } = splitVersion(target.path); //          404
      const match = options.router(path); //                           404, 400
      version(exchange, mounted, options.retirement); //               400, 410
      const action = pick(match, req.method!); //                      405
      if (!action) return await finishCounted(exchange, optionsReply(exchange, match)); // 429
      if (options.isInMaintenance() && !action.always)
        throw unavailable('The service is in maintenance.', 60); // 503
      const principal = await identify(exchange, action); //           400, 401, 413, 429, 503
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
  const { req, res, expectation, options } = exchange;
  exchange.bytes ??= readBytes(
    req,
    options.bodyLimit,
    () => expectation === 'continue' && res.writeContinue(),
  );
  return exchange.bytes;
}

function answer(exchange: Exchange, reply: Reply): Promise<void> | void {
  const { req, res, options } = exchange;
  if (!reply.stream) return finish(exchange, reply);
  const common = closing(exchange, options.isDraining());
  if (req.method === 'HEAD') return sendHead(res, reply, common);
  return reply.stream((rows) => writeRows(res, reply, common, rows, options.streamStallMs));
}

function closing({ common }: Exchange, closes: boolean): readonly string[] {
  return closes ? [...common, 'Connection', 'close'] : common;
}

/** A body that nobody reads is not waited for: a short rest is skipped, a long one ends the connection. */
const SKIPPED_BYTES = 65_536;

function finish(exchange: Exchange, reply: Reply): void {
  const { req, res, expectation, options } = exchange;
  const unread =
    !req.complete &&
    hasBody(req) &&
    (expectation === 'continue' || !(Number(req.headers['content-length']) <= SKIPPED_BYTES));
  if (unread) lingerOnClose(req.socket);
  send(res, reply, closing(exchange, unread || options.isDraining()));
}

function fail(exchange: Exchange, error: unknown): void {
  const { id, req, res, options } = exchange;
  const { log } = options;
  if (error instanceof BodyAborted || error instanceof ReaderGone) return void res.destroy();
  const problem = error instanceof Problem ? error : problemOf(error);
  if (!problem)
    log.error(
      { err: error, requestId: id, method: req.method, path: req.url?.split('?')[0] },
      'request failed',
    );
  else if (problem !== error && problem.status >= 503)
    log.warn({ err: error, requestId: id }, problem.message);
  // Half an array must not look like a whole one.
  if (res.headersSent) return void res.destroy();
  const rendered = render(problem ?? internal(), takesProblemJson(req.headers.accept), id);
  const scope = problem?.more.scope;
  if (scope !== undefined) rendered.headers.push(...options.challenge(scope));
  finish(exchange, rendered);
}

const PROCESS = randomBytes(6).toString('base64url');
let requests = 0;

/** The client's X-Request-Id when it is fit for a log, or one of our own. */
function requestId(req: IncomingMessage): string {
  const given = req.headers['x-request-id'];
  if (typeof given === 'string' && /^[\w.:-]{1,64}$/.test(given)) return given;
  return `${PROCESS}-${(++requests).toString(36)}`;
}
