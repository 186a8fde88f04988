import { hash } from 'node:crypto';
import { forwardReply, secretReply } from '../actions/secret-reply.js';
import { preconditionFailed } from '../errors/record-errors.js';
import { badRequest } from '../errors/request-errors.js';
import { evaluate, matchesStrongly, readConditions } from '../http/preconditions.js';
import type { Reply } from '../http/reply.js';
import type { Request } from '../http/request.js';
import { parseUuid } from '../uuid.js';

/**
 * The members that a response shows of a key, a webhook or another managed resource. `path` is its own, without
 * PUBLIC_PREFIX.
 */
export interface ManagedView {
  readonly path: string;
  readonly version: number;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** One key or webhook, with `_version`, `_links` and an ETag as records have: 200, or `status` after a write. */
export function managedReply(
  { headers, method, prefix }: Request,
  shown: ManagedView,
  { status = 200, secrets = {} }: { status?: number; secrets?: Readonly<Record<string, unknown>> } = {},
): Reply {
  const etag = etagOf(shown);
  const isRead = method === 'GET' || method === 'HEAD';
  const unchanged = isRead && outcomeOf(headers, etag) === 304;
  const location = status === 201 ? ['Location', prefix + shown.path] : [];
  if (unchanged) return { status: 304, headers: ['ETag', etag, 'Cache-Control', 'no-store'] };
  return secretReply(status, { ...shown.fields, ...secrets, ...ownMembers(prefix, shown) }, [
    'ETag',
    etag,
    ...location,
  ]);
}

/**
 * A page of them, after `?after=<id>`: 200, 304, 400, 412. `find` finds those after an id, one more than `limit` if there are more;
 * `invalid` is the message about anything else than an id.
 */
export async function managedPage<Item extends { readonly id: string }>(
  request: Request,
  { path, limit, invalid }: { readonly path: string; readonly limit: number; readonly invalid: string },
  find: (after: string | undefined) => Promise<readonly Item[]>,
  viewOf: (item: Item) => ManagedView,
): Promise<Reply> {
  const given = request.query.parameters.get('after');
  const after = parseUuid(given ?? '');
  if (given !== null && after === undefined) throw badRequest(invalid);
  const found = await find(after);
  const page = found.slice(0, limit);
  const next = found.length > limit ? `${path}?after=${page.at(-1)!.id}` : null;
  const { headers, prefix, version } = request;
  const hasLinks = version.lists === 'keyset';
  const data = page.map(viewOf).map((shown) => ({
    ...shown.fields,
    ...(hasLinks ? ownMembers(prefix, shown) : { _version: shown.version }),
  }));
  const reply = forwardReply(request, { data, limit, next });
  const etag = `"${hash('sha1', reply.body!, 'base64url')}"`;
  const fields = ['ETag', etag];
  if (outcomeOf(headers, etag) === 304)
    return { status: 304, headers: [...fields, 'Cache-Control', 'no-store'] };
  return { ...reply, headers: [...reply.headers, ...fields] };
}

/** Throws 412 unless If-Match fits; `current` is undefined if there is nothing. */
export function requireMatch({ headers, prefix }: Request, current: ManagedView | undefined): void {
  const match = readConditions(headers)?.match;
  if (match === undefined) return;
  if (!current) throw preconditionFailed();
  const etag = etagOf(current);
  if (!matchesStrongly(match, etag))
    throw preconditionFailed(etag, { ...current.fields, ...ownMembers(prefix, current) });
}

const etagOf = ({ version }: ManagedView) => `"${version}"`;

function ownMembers(prefix: string, { path, version }: ManagedView) {
  return { _version: version, _links: { self: { href: prefix + path, method: 'GET' } } };
}

/** Throws 412. */
function outcomeOf(headers: Request['headers'], etag: string): 200 | 304 {
  const conditions = readConditions(headers);
  const outcome = conditions ? evaluate(conditions, { etag, modified: undefined }) : 200;
  if (outcome === 412) throw preconditionFailed(etag);
  return outcome;
}
