import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Presented } from '../auth/scheme.js';
import { expectationFailed, rateLimited, unavailable } from '../errors.js';
import { type Retirement, requireVersion, retirementFields, splitVersion } from '../http/api-version.js';
import type { Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import { requestId } from '../http/request-id.js';
import { type Endpoint, type Match, negotiateType, selectAction } from '../http/router.js';
import { clientKey } from '../limits/client-key.js';
import { NOBODY, type Principal, permit } from '../principal.js';
import { Problem } from '../problem.js';
import { readBody, readBytes } from '../transport/request-body.js';
import { ALL_METHODS, readTarget } from '../transport/request-target.js';
import type { Expectation, PipelineOptions, RequestContext } from './context.js';
import { fail, finish, respond } from './respond.js';

/** Answers a request; `ended` is called, once, when it takes up no place any more. */
export type Pipeline = (
  req: IncomingMessage,
  res: ServerResponse,
  expectation: Expectation,
  ended: () => void,
) => void;

/** The steps of every request, each saying what it may refuse. This is the only place that catches to answer. */
export function createPipeline(options: PipelineOptions): Pipeline {
  const steps = async (context: RequestContext): Promise<void> => {
    const { req, id, expectation, observation } = context;
    try {
      const target = readTarget(req); //                               400, 414, 431, 501
      options.requireAllowedHost?.(req); //                            421
      if (expectation === 'unknown') throw expectationFailed(); //     417
      if (target.path === '*') return await finishCounted(context, SERVER_OPTIONS); // 429
      const { path, mounted } = splitVersion(target.path); //          404
      const match = options.router(path); //                           404, 400
      observation.route = match.template;
      version(context, mounted, options.retirement); //               400, 410
      const action = selectAction(match, req.method!); //                      405
      if (!action) return await finishCounted(context, optionsReply(context, match)); // 429
      if (options.isInMaintenance() && !action.alwaysAvailable)
        throw unavailable('The service is in maintenance.', 60); // 503
      observation.identifies();
      // An await of what is no promise costs a turn of the microtasks: 1.1 x the rate of reads.
      const identity = identify(context, action); //                  400, 401, 413, 429, 503
      const principal = identity instanceof Promise ? await identity : identity;
      observation.identified(principal);
      if (options.rateLimit && !action.alwaysAvailable) await count(context, principal); // 429
      const permission = permit(principal, action.requires, match.params); // 403
      const type = negotiateType(action, req.headers.accept); //              406
      const body =
        action.accepts &&
        (await readBody(
          req,
          action.accepts,
          () => bytesOf(context),
          (bytes) => admitParsing(context, bytes),
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
      respond(context, await action.run(request));
    } catch (error) {
      if (!options.rateLimit || context.counted) fail(context, error);
      else fail(context, await countFailure(context, error));
    } finally {
      options.parseLimit.leave(context.parsedBytes);
      context.ended();
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

function version(context: RequestContext, mounted: boolean, retirement: Retirement): void {
  context.common.push(...(mounted ? MOUNTED : ROOT));
  requireVersion(context.req.headers['api-version'], mounted);
  if (!retirement.deprecation && !retirement.sunset) return;
  context.common.push(...retirementFields(retirement, Date.now()));
}

/** A preflight (of CORS) needs no credential either: a browser sends none with it. */
function optionsReply({ req, options }: RequestContext, { allow, acceptFields: takes }: Match): Reply {
  const preflight = options.cors?.preflight(req.headers, allow) ?? [];
  return { status: 204, headers: ['Allow', allow, ...takes, ...preflight] };
}

/** Not a promise where nobody has to show a credential. */
function identify(context: RequestContext, { requires: needs }: Endpoint): Promise<Principal> | Principal {
  const { authenticate } = context.options;
  if (!authenticate || needs === 'nothing') return NOBODY;
  return authenticate(presentedBy(context));
}

function presentedBy(context: RequestContext): Presented {
  context.presented ??= context.options.present(context.req, () => bytesOf(context));
  return context.presented;
}

/** Counts a request against its principal, or against its address where nobody showed a credential. Throws 429. */
async function count(context: RequestContext, { scheme, subject }: Principal): Promise<void> {
  context.counted = true;
  const key =
    scheme === 'none' ? clientKey('address', presentedBy(context).address) : clientKey('principal', subject);
  const { fields, refusedFor } = await context.options.rateLimit!(key);
  context.common.push(...fields);
  if (refusedFor !== undefined) throw rateLimited(refusedFor);
}

/** What answers a request that failed before it was counted: its problem, or the 429 of its address. */
async function countFailure(context: RequestContext, error: unknown): Promise<unknown> {
  try {
    await count(context, NOBODY);
    return error;
  } catch (limited) {
    // A fault of ours has to reach the log, and a client that went away gets no answer.
    return error instanceof Problem ? limited : error;
  }
}

async function finishCounted(context: RequestContext, reply: Reply): Promise<void> {
  if (context.options.rateLimit) await count(context, NOBODY);
  finish(context, reply);
}

/** Waits, for a long body, until it may be parsed. Undefined: it may at once. Rejects with 503. */
function admitParsing(context: RequestContext, bytes: number): Promise<void> | undefined {
  const admitted = context.options.parseLimit.enter(bytes);
  if (!admitted) context.parsedBytes = bytes;
  return admitted?.then(() => {
    context.parsedBytes = bytes;
  });
}

/** The body, read once, by whoever needs it first: the check of a signature, or the action's. */
function bytesOf(context: RequestContext): Promise<Buffer> {
  const { req, res, expectation, options, observation } = context;
  const sender = () => ({
    address: presentedBy(context).address,
    proceed: () => expectation === 'continue' && res.writeContinue(),
  });
  context.bytes ??= readBytes(req, res, options, sender, observation);
  return context.bytes;
}
