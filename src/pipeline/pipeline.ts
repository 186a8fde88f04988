import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Presented } from '../auth/scheme.js';
import { expectationFailed, rateLimited, unavailable } from '../errors.js';
import { requireVersion, retirementFields, splitVersion } from '../http/api-version.js';
import type { Reply } from '../http/reply.js';
import type { Body } from '../http/request.js';
import { requestId } from '../http/request-id.js';
import { type Endpoint, type Match, negotiateType, selectAction } from '../http/router.js';
import { clientKey } from '../limits/client-key.js';
import { NOBODY, type Principal, permit } from '../principal.js';
import { Problem } from '../problem.js';
import { readBody, readBytes } from '../transport/request-body.js';
import { ALL_METHODS, readTarget } from '../transport/request-target.js';
import type { Expectation, PipelineOptions, RequestContext } from './context.js';
import { fail, finish, respond } from './respond.js';

/** Handles a request. `ended` is called once, when the request no longer counts as in flight. */
export type Pipeline = (
  req: IncomingMessage,
  res: ServerResponse,
  expectation: Expectation,
  ended: () => void,
) => void;

export function createPipeline(options: PipelineOptions): Pipeline {
  return (req, res, expectation, ended) => {
    const id = requestId(req);
    const observation = options.observer(req, id);
    void observation.run(handle, {
      req,
      res,
      id,
      expectation,
      options,
      observation,
      common: options.common(req, id),
      ended,
      bytes: undefined,
      parsedBytes: 0,
      presented: undefined,
      isRateCounted: false,
    });
  };
}

/**
 * The stages of every request, in order. The comments name the statuses with which each may refuse it. This is the only
 * place that catches errors in order to respond. It is one function, so that a malformed request gets its response
 * before Node reports the bytes that follow it.
 */
async function handle(context: RequestContext): Promise<void> {
  const { req, id, options, observation } = context;
  try {
    const target = readTarget(req); //                                        400, 414, 431, 501, 505
    options.requireAllowedHost?.(req); //                                     421
    if (context.expectation === 'unknown') throw expectationFailed(); //      417
    if (target.path === '*') return await finishCounted(context, SERVER_OPTIONS); // 429
    const { path, mounted } = splitVersion(target.path); //                   404
    const match = options.router(path); //                                    404, 400
    observation.route = match.template;
    addVersionFields(context, mounted); //                                    400, 410
    const action = selectAction(match, req.method!); //                       405
    if (!action) return await finishCounted(context, optionsReply(context, match)); // 429
    requireAvailable(context, action); //                                     503
    observation.identifies();
    // No await of a plain value: it would cost a microtask in each request.
    const identity = identify(context, action); //                            400, 401, 413, 429, 503
    const principal = identity instanceof Promise ? await identity : identity;
    observation.identified(principal);
    if (options.rateLimit && !action.alwaysAvailable) await countRequest(context, principal); // 429
    const permission = permit(principal, action.requires, match.params); //   403
    const type = negotiateType(action, req.headers.accept); //                406
    const body = action.accepts && (await parsedBody(context, action.accepts)); // 415, 413, 400, 503
    const reply = await action.run({
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
    });
    if (req.method !== 'GET' && req.method !== 'HEAD') options.afterWrite?.();
    respond(context, reply);
  } catch (error) {
    if (!options.rateLimit || context.isRateCounted) fail(context, error);
    else fail(context, await countFailedRequest(context, error));
  } finally {
    options.parseLimit.leave(context.parsedBytes);
    context.ended();
  }
}

const MOUNTED_FIELDS = ['API-Version', '1', 'Vary', 'Accept'];
const ROOT_FIELDS = ['API-Version', '1', 'Vary', 'Accept, API-Version'];
const SERVER_OPTIONS: Reply = { status: 204, headers: ['Allow', ALL_METHODS] };

/** Adds the fields of the version. `mounted`: the path names the version. */
function addVersionFields({ req, common, options }: RequestContext, mounted: boolean): void {
  const { retirement } = options;
  common.push(...(mounted ? MOUNTED_FIELDS : ROOT_FIELDS));
  requireVersion(req.headers['api-version'], mounted);
  if (retirement.deprecation || retirement.sunset) common.push(...retirementFields(retirement, Date.now()));
}

/** The response to OPTIONS. It needs no credential, since browsers send none with a CORS preflight. */
function optionsReply({ req, options }: RequestContext, { allow, acceptFields }: Match): Reply {
  const preflight = options.cors?.preflight(req.headers, allow) ?? [];
  return { status: 204, headers: ['Allow', allow, ...acceptFields, ...preflight] };
}

function requireAvailable({ options }: RequestContext, { alwaysAvailable }: Endpoint): void {
  if (options.isInMaintenance() && !alwaysAvailable) throw unavailable('The service is in maintenance.', 60);
}

/** The caller. Synchronous if no credential is required. */
function identify(context: RequestContext, { requires }: Endpoint): Promise<Principal> | Principal {
  const { authenticate } = context.options;
  if (!authenticate || requires === 'nothing') return NOBODY;
  return authenticate(presentedBy(context));
}

function presentedBy(context: RequestContext): Presented {
  context.presented ??= context.options.present(context.req, () => readBytesOnce(context));
  return context.presented;
}

/** Counts a request against the rate limit of its principal, or of its address without a credential. Throws 429. */
async function countRequest(context: RequestContext, { scheme, subject }: Principal): Promise<void> {
  context.isRateCounted = true;
  const key =
    scheme === 'none' ? clientKey('address', presentedBy(context).address) : clientKey('principal', subject);
  const { fields, refusedFor } = await context.options.rateLimit!(key);
  context.common.push(...fields);
  if (refusedFor !== undefined) throw rateLimited(refusedFor);
}

/** What to respond to a request that failed before it was counted: its own problem, or the 429 of its address. */
async function countFailedRequest(context: RequestContext, error: unknown): Promise<unknown> {
  try {
    await countRequest(context, NOBODY);
    return error;
  } catch (limited) {
    // An internal error must reach the log, and a client that has disconnected gets no response.
    return error instanceof Problem ? limited : error;
  }
}

async function finishCounted(context: RequestContext, reply: Reply): Promise<void> {
  if (context.options.rateLimit) await countRequest(context, NOBODY);
  finish(context, reply);
}

function parsedBody(context: RequestContext, accepted: readonly string[]): Promise<Body> | undefined {
  return readBody(
    context.req,
    accepted,
    () => readBytesOnce(context),
    (bytes) => admitParsing(context, bytes),
  );
}

/** Waits until a body of this length may be parsed; undefined: it may at once. Rejects with 503. */
function admitParsing(context: RequestContext, bytes: number): Promise<void> | undefined {
  const admitted = context.options.parseLimit.enter(bytes);
  if (!admitted) context.parsedBytes = bytes;
  return admitted?.then(() => {
    context.parsedBytes = bytes;
  });
}

/** The bytes of the body. They are read once: for the check of a signature, or for the action. */
function readBytesOnce(context: RequestContext): Promise<Buffer> {
  const { req, res, expectation, options, observation } = context;
  const sender = () => ({
    address: presentedBy(context).address,
    proceed: () => expectation === 'continue' && res.writeContinue(),
  });
  context.bytes ??= readBytes(req, res, options, sender, observation);
  return context.bytes;
}
