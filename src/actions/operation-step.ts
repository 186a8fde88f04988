import type { IncomingHttpHeaders } from 'node:http';
import { permit } from '../auth/principal.js';
import type { Run } from '../db/db.js';
import { unsupportedMediaType } from '../errors/input-errors.js';
import { uriTooLong } from '../errors/request-errors.js';
import { requireSameVersion } from '../http/api-version.js';
import { HTML_TYPE, JSON_TYPE } from '../http/media-types.js';
import { acceptedQuery, NO_QUERY, Query } from '../http/query-parameters.js';
import type { Body, Request } from '../http/request.js';
import { MAX_TARGET, negotiateType, type OpenEndpoint, type Router, selectAction } from '../http/router.js';
import type { Json } from '../json.js';
import { splitVersion } from '../versions/supported.js';

/** An operation that the caller may send. Without an action it is OPTIONS. */
export interface OperationStep {
  readonly action: OpenEndpoint | undefined;
  readonly request: Request;
  readonly allow: string;
}

/**
 * Passes an operation within another request through the stages of a request of its own: route, method, permission, query,
 * media types. The caller and the version are those of `request`. Throws 400, 403, 404, 405, 406, 414 and 415.
 */
export function stepOf(operation: Operation, router: Router, request: Request): OperationStep {
  const { method, headers } = operation;
  if (operation.path.length > MAX_TARGET) throw uriTooLong(MAX_TARGET);
  const target = pathOf(operation);
  const { path, pathVersion } = splitVersion(target);
  const match = router(path);
  requireSameVersion(request.version, headers['api-version'], pathVersion);
  const given = new Query(operation.path.slice(target.length + 1));
  const action = selectAction(match, method, given);
  const permission = action ? permit(request.principal, action.requires, match.params) : 'all';
  const query = action ? acceptedQuery(action, given, request.version) : given;
  const step: Request = {
    ...request,
    method,
    path,
    query,
    params: match.params,
    permission,
    headers,
    type: action ? negotiateType(withoutPage(action), headers.accept) : '',
    body: action && bodyOf(operation, action),
  };
  return { action, request: step, allow: match.allow };
}

/** The media types of an operation: a page shows what is committed, and is no part of another request. */
const withoutPage = (action: OpenEndpoint) =>
  action.page ? { offers: action.offers!.filter((type) => type !== HTML_TYPE) } : action;

/** The path of an operation without its query. */
export function pathOf({ path }: Operation): string {
  const mark = path.indexOf('?');
  return mark < 0 ? path : path.slice(0, mark);
}

/** The part of a request about several records of a collection that concerns one of them. */
export const forRecord = (request: Request, id: string, run: Run): Request => ({
  ...request,
  ...{ query: NO_QUERY, path: `${request.path}/${id}`, params: { ...request.params, id }, run },
});

/** The body of an operation, which has arrived as a whole. */
function bodyOf(
  { method, headers, body }: Operation,
  { accepts: all, streams }: OpenEndpoint,
): Body | undefined {
  if (!all || body === undefined) return undefined;
  const accepts = all.filter((type) => !streams?.includes(type));
  const type = (headers['content-type'] ?? JSON_TYPE).split(';')[0]!.trim().toLowerCase();
  if (!accepts.includes(type))
    throw unsupportedMediaType(method === 'PATCH' ? 'Accept-Patch' : 'Accept-Post', accepts);
  return { type, value: body, bytes: Buffer.alloc(0) };
}

/** A well-formed operation. */
export interface Operation {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Json | undefined;
}
