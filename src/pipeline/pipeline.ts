import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Presented } from '../auth/scheme.js';
import { expectationFailed, rateLimited, unavailable } from '../errors.js';
import { type Retirement, requireVersion, retirementFields, splitVersion } from '../http/api-version.js';
import type { Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import { requestId } from '../http/request-id.js';
import { choose, type Endpoint, type Match, pick } from '../http/router.js';
import { partition } from '../limits/client-key.js';
import { NOBODY, type Principal, permit } from '../principal.js';
import { Problem } from '../problem.js';
import { readBody, readBytes } from '../transport/request-body.js';
import { ALL_METHODS, readTarget } from '../transport/request-target.js';
import type { Exchange, Expectation, PipelineOptions } from './context.js';
import { answer, fail, finish } from './respond.js';

/** Answers a request; `ended` is called, once, when it takes up no place any more. */
export type Pipeline = (
  req: IncomingMessage,
  res: ServerResponse,
  expectation: Expectation,
  ended: () => void,
) => void;

/** The steps of every request, each saying what it may refuse. This is the only place that catches to answer. */
export function createPipeline(options: PipelineOptions): Pipeline {
  const steps = async (exchange: Exchange): Promise<void> => {
    const { req, id, expectation, observation } = exchange;
    try {
      const target = readTarget(req); //                               400, 414, 431, 501
      options.requireAllowedHost?.(req); //                            421
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
      // An await of what is no promise costs a turn of the microtasks: 1.1 x the rate of reads.
      const identity = identify(exchange, action); //                  400, 401, 413, 429, 503
      const principal = identity instanceof Promise ? await identity : identity;
      observation.identified(principal);
      if (options.rateLimit && !action.always) await count(exchange, principal); // 429
      const permission = permit(principal, action.needs, match.params); // 403
      const type = choose(action, req.headers.accept); //              406
      const body =
        action.takes &&
        (await readBody(
          req,
          action.takes,
          () => bytesOf(exchange),
          (bytes) => admitParsing(exchange, bytes),
        )); // 415, 413, 400, 503
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
      answer(exchange, await action.run(request));
    } catch (error) {
      if (!options.rateLimit || exchange.counted) fail(exchange, error);
      else fail(exchange, await countFailure(exchange, error));
    } finally {
      options.parseLimit.leave(exchange.parsedBytes);
      exchange.ended();
    }
  };

  return (req, res, expectation, ended) => {
    const id = requestId(req);
    const common = options.common(req, id);
    const observation = options.observer(req, id);
    void observation.run(steps, {
      req,
      res,
      id,
      expectation,
      options,
      observation,
      common,
      ended,
      bytes: undefined,
      parsedBytes: 0,
      presented: undefined,
      counted: false,
    });
  };
}

/** Flat and ready, so that an answer copies references and makes no strings. */
const MOUNTED = ['API-Version', '1', 'Vary', 'Accept'];
const ROOT = ['API-Version', '1', 'Vary', 'Accept, API-Version'];
const SERVER_OPTIONS: Reply = { status: 204, headers: ['Allow', ALL_METHODS] };

function version(exchange: Exchange, mounted: boolean, retirement: Retirement): void {
  exchange.common.push(...(mounted ? MOUNTED : ROOT));
  requireVersion(exchange.req.headers['api-version'], mounted);
  if (!retirement.deprecation && !retirement.sunset) return;
  exchange.common.push(...retirementFields(retirement, Date.now()));
}

/** A preflight (of CORS) needs no credential either: a browser sends none with it. */
function optionsReply({ req, options }: Exchange, { allow, takes }: Match): Reply {
  const preflight = options.cors?.preflight(req.headers, allow) ?? [];
  return { status: 204, headers: ['Allow', allow, ...takes, ...preflight] };
}

/** Not a promise where nobody has to show a credential. */
function identify(exchange: Exchange, { needs }: Endpoint): Promise<Principal> | Principal {
  const { authenticate } = exchange.options;
  if (!authenticate || needs === 'nothing') return NOBODY;
  return authenticate(presentedBy(exchange));
}

function presentedBy(exchange: Exchange): Presented {
  exchange.presented ??= exchange.options.present(exchange.req, () => bytesOf(exchange));
  return exchange.presented;
}

/** Counts a request against its principal, or against its address where nobody showed a credential. Throws 429. */
async function count(exchange: Exchange, { scheme, subject }: Principal): Promise<void> {
  exchange.counted = true;
  const key =
    scheme === 'none' ? partition('address', presentedBy(exchange).address) : partition('principal', subject);
  const { fields, refusedFor } = await exchange.options.rateLimit!(key);
  exchange.common.push(...fields);
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

/** Waits, for a long body, until it may be parsed. Undefined: it may at once. Rejects with 503. */
function admitParsing(exchange: Exchange, bytes: number): Promise<void> | undefined {
  const admitted = exchange.options.parseLimit.enter(bytes);
  if (!admitted) exchange.parsedBytes = bytes;
  return admitted?.then(() => {
    exchange.parsedBytes = bytes;
  });
}

/** The body, read once, by whoever needs it first: the check of a signature, or the action's. */
function bytesOf(exchange: Exchange): Promise<Buffer> {
  const { req, res, expectation, options, observation } = exchange;
  const sender = () => ({
    address: presentedBy(exchange).address,
    proceed: () => expectation === 'continue' && res.writeContinue(),
  });
  exchange.bytes ??= readBytes(req, res, options, sender, observation);
  return exchange.bytes;
}
