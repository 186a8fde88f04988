import { NOBODY, type Principal } from '../auth/principal.js';
import { rateLimited } from '../errors/caller-errors.js';
import { unavailable } from '../errors/service-errors.js';
import type { Reply } from '../http/reply.js';
import { type Match, optionsOf, visible } from '../http/router.js';
import type { RequestContext } from './context.js';
import { clientOf } from './identify.js';
import { finish } from './respond.js';

/** The response to OPTIONS. `caller`: lists the methods that it might be permitted; absent: those that anybody might be. */
export function optionsReply({ req, options }: RequestContext, match: Match, caller?: Principal): Reply {
  const { actions, params, preflightAllow } = match;
  const { allow, acceptFields } = caller
    ? optionsOf(actions, (endpoint) => visible(caller, endpoint, params))
    : match;
  const preflight = options.cors?.preflight(req.headers, preflightAllow) ?? [];
  return { status: 204, headers: ['Allow', allow, ...acceptFields, ...preflight] };
}

/** The 503 of all but the endpoints that are always available. */
export const inMaintenance = () => unavailable('The service is in maintenance.', 60);

/** Counts a request against the rate limit of its principal, or of its address without a credential. Throws 429. */
export async function countRequest(context: RequestContext, principal: Principal): Promise<void> {
  context.isRateCounted = true;
  const { fields, refusedFor } = await context.options.rateLimit!(clientOf(context, principal));
  context.common.push(...fields);
  if (refusedFor !== undefined) throw rateLimited(refusedFor);
}

/** Responds to a request without a principal, which is counted first. Rejects with 429. */
export async function finishCounted(context: RequestContext, reply: Reply): Promise<void> {
  if (context.options.rateLimit && !isPreflight(context)) await countRequest(context, NOBODY);
  finish(context, reply);
}

/** A browser sends preflights on its own, so that they count against no limit. */
export function isPreflight({ req, options }: RequestContext): boolean {
  return req.method === 'OPTIONS' && options.cors?.isPreflight(req.headers) === true;
}
