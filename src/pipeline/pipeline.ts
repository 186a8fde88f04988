import { createHash } from 'node:crypto';
import { NOBODY, permit } from '../auth/principal.js';
import { Problem } from '../errors/problem.js';
import { expectationFailed, versionSunset } from '../errors/request-errors.js';
import { isSunset, requireVersion, retirementFields } from '../http/api-version.js';
import { addFields, requestId } from '../http/common-headers.js';
import { HTML_TYPE } from '../http/media-types.js';
import { acceptedQuery, NO_QUERY } from '../http/query-parameters.js';
import type { Reply } from '../http/reply.js';
import type { Body } from '../http/request.js';
import { type Match, negotiateType, type OpenEndpoint, runOf, selectAction } from '../http/router.js';
import type { Run } from '../transport/admission-control.js';
import { BodyStream } from '../transport/body-stream.js';
import { type BodyForm, bodyForm, decodeBody, parseBody } from '../transport/request-body.js';
import { ALL_METHODS, readTarget } from '../transport/request-target.js';
import { DEFAULT_VERSION, splitVersion, type Version, versionOf } from '../versions/supported.js';
import {
  countRequest,
  finishCounted,
  inMaintenance,
  isPreflight,
  optionsReply,
  runHandler,
} from './common-stages.js';
import { requireCoding } from './compression.js';
import { type PipelineOptions, type RequestContext, type ServedVersion, servedVersions } from './context.js';
import { authRequestOf, identify, isFormPost, proceed, readBytesOnce } from './identify.js';
import { fail, respond } from './respond.js';

export function createPipeline(options: PipelineOptions): Run {
  const versions = servedVersions(options);
  return (req, res, expectation, ended) => {
    const id = requestId(req);
    const observation = options.observer(req, id);
    void observation.run(handle, {
      req,
      res,
      id,
      expectation,
      options,
      versions,
      served: undefined,
      observation,
      common: options.commonFields(req, id),
      ended,
      bytes: undefined,
      parsedBytes: 0,
      stream: undefined,
      authRequest: undefined,
      isRateCounted: false,
      target: undefined,
    });
  };
}

/**
 * The stages of every request, in order. The comments name the statuses with which each may refuse it; the errors of all
 * are caught here. It is one function, so that a malformed request gets its response before Node reports the bytes that
 * follow it.
 */
async function handle(context: RequestContext): Promise<void> {
  const { req, id, options, observation } = context;
  try {
    const target = readTarget(req); //                                        400, 414, 431, 501, 505
    context.target = target;
    options.requireAllowedHost?.(req); //                                     421
    if (context.expectation === 'unknown') throw expectationFailed(); //      417
    if (target.path === '*') return await finishCounted(context, SERVER_OPTIONS); // 429
    const { path, pathVersion } = splitVersion(target.path);
    const served = context.versions.get(versionOf(pathVersion, req.headers['api-version']))!;
    context.served = served;
    const match = options.router(path); //                                    404, 400
    observation.route = match.template;
    // 404, 405, 503, 429, 413, 408
    if (match.handler) return await runHandler(context, match, match.handler, pathVersion);
    admitVersion(context, served, pathVersion, match); //                     400, 410
    const isWrite = !READS.has(req.method!);
    const ofPage = isWrite && isFormPost(req) ? match.form : undefined;
    const action = ofPage ?? selectAction(match, req.method!, target.query); //                  405
    // OPTIONS needs no credential, since browsers send none with a CORS preflight. 429
    if (!action) return await finishCounted(context, optionsReply(context, match));
    if (options.state.isInMaintenance && !action.alwaysAvailable) throw inMaintenance(); // 503
    // No await of a plain value: it would cost a microtask in each request.
    // 400, 401, 403, 408, 413, 429, 503
    const identity = action.identify?.(target.query) ?? identify(context, action, ofPage !== undefined);
    const principal = identity instanceof Promise ? await identity : identity;
    observation.principal = principal;
    // The form of a page has a token.
    if (isWrite && !ofPage)
      options.requireOrigin(req.headers, principal.scheme, () => authRequestOf(context).secure); //  403
    if (options.rateLimit && !action.alwaysAvailable) await countRequest(context, principal); // 429
    const permission = permit(principal, action.requires, match.params); //   403
    const type = negotiateType(action, req.headers.accept, target.query); //  406
    requireCoding(context); //                                                406
    const { version, prefix } = type === HTML_TYPE ? context.versions.get(DEFAULT_VERSION)! : served;
    const query = target.query === NO_QUERY ? NO_QUERY : acceptedQuery(action, target.query, version); //  400
    const form = action.accepts && bodyForm(req, action.accepts); //           415
    const body = form && (await bodyOf(context, form, action)); //            400, 408, 413, 429, 503
    const run = runOf(action, type, body);
    const reply = await run({
      id,
      method: req.method!,
      path,
      version,
      prefix,
      params: match.params,
      query,
      headers: req.headers,
      type,
      principal,
      permission,
      run: undefined,
      body,
    });
    if (isWrite) await options.afterWrite(principal, context.common);
    respond(context, reply);
  } catch (error) {
    const isCounted = !options.rateLimit || context.isRateCounted || isPreflight(context);
    await fail(context, isCounted ? error : await countFailedRequest(context, error));
  } finally {
    if (context.parsedBytes > 0) options.parseLimit.leave(context.parsedBytes);
    context.stream?.close();
    context.ended();
  }
}

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'QUERY']);
const SERVER_OPTIONS: Reply = { status: 204, headers: ['Allow', ALL_METHODS] };

/** Adds the fields of the version to the response. Throws 400 if the request names two versions, 410 after the sunset. */
function admitVersion(
  context: RequestContext,
  served: ServedVersion,
  pathVersion: Version | undefined,
  { actions }: Match,
): void {
  const { req, common, options } = context;
  const { version, retirement, pathFields, rootFields } = served;
  served.requests.value++;
  const own = pathVersion ? pathFields : rootFields;
  if (options.cors) addFields(common, own);
  else common.push(...own);
  const field = req.headers['api-version'];
  if (field !== undefined) requireVersion(field, pathVersion);
  if (!retirement) return;
  const now = Date.now();
  const get = actions.get('GET');
  if (isSunset(retirement, now) && !get?.outlivesVersion && !get?.alwaysAvailable)
    throw versionSunset(version.number);
  common.push(...retirementFields(retirement, now));
}

/** The error to respond with to a request that failed before it was counted: its own problem, or the 429 of its address. */
async function countFailedRequest(context: RequestContext, error: unknown): Promise<unknown> {
  try {
    await countRequest(context, NOBODY);
    return error;
  } catch (limited) {
    // An internal error must reach the log, and a client that has disconnected gets no response.
    return error instanceof Problem ? limited : error;
  }
}

/** The body, or a stream of it for an action that reads its media type in parts. */
async function bodyOf(context: RequestContext, form: BodyForm, { streams }: OpenEndpoint): Promise<Body> {
  const { res, options } = context;
  const { type, coding } = form;
  if (streams?.includes(type)) return streamOf(context, form);
  const sent = await readBytesOnce(context);
  const bytes = coding ? await decodeBody(sent, coding, res, options) : sent;
  const admitted = options.parseLimit.enter(bytes.length);
  if (admitted) await admitted;
  context.parsedBytes = bytes.length;
  return parseBody(type, bytes);
}

async function streamOf(context: RequestContext, { type, coding }: BodyForm): Promise<Body> {
  const { req, options: limits, observation: progress } = context;
  // The check of a signature has read the whole body.
  const bytes = context.bytes && (await context.bytes);
  const arrival = bytes ? { bytes } : { proceed: () => proceed(context), progress };
  context.stream = new BodyStream(req, { limits, coding, hash: createHash('sha256'), ...arrival });
  return { type, value: null, bytes: Buffer.alloc(0), stream: context.stream };
}
