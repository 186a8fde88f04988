import { HTML_TYPE, JSON_TYPE } from '../collection/representation.js';
import type { Reply } from '../http/reply.js';
import type { Action } from '../http/router.js';
import type { JsonObject } from '../json.js';

/** The parameters that json-server 0.17 names without an underscore. */
const SEARCH = 'q';
const DEFAULT_LIMIT = 10;

/**
 * A list with the parameters and responses of json-server 0.17 (COMPAT=json-server): `_page`, `_limit` or `_per_page`,
 * `_sort`, `_order`, `_embed` and `q`; the response is an array, and a page has X-Total-Count and Link. All other
 * parameters stay as they are. CSV and NDJSON have them as other lists do. Lists between
 * cursors stay as they are.
 */
export function asJsonServer(list: Action): Action {
  return {
    ...list,
    parameters: [...(list.parameters ?? []), SEARCH],
    run: async (request) => {
      const given = new URLSearchParams(request.query);
      const isOther = request.type === HTML_TYPE || request.version.lists === 'keyset';
      if (isOther || ![...given.keys()].every(isOwn)) return list.run(request);
      const query = translated(given);
      const reply = await list.run({ ...request, query: String(query) });
      const isArray = reply.status === 200 && request.type === JSON_TYPE;
      return isArray ? asArray(reply, given, request.prefix + request.path) : reply;
    },
  };
}

const OWN = ['_page', '_limit', '_per_page', '_sort', '_order', '_embed', SEARCH];

/** Names with an underscore that json-server does not know are the client's. */
const isOwn = (name: string) => OWN.includes(name) || name.startsWith('_');

function translated(given: URLSearchParams): URLSearchParams {
  const query = new URLSearchParams();
  const limit = given.get('_limit') ?? given.get('_per_page');
  if (given.has('_page') || limit !== null) {
    query.set('page', given.get('_page') ?? '1');
    query.set('limit', limit ?? String(DEFAULT_LIMIT));
  }
  const orders = (given.get('_order') ?? '').split(',');
  const keys = (given.get('_sort') ?? '').split(',').filter((key) => key !== '');
  const sorts = keys.map((key, index) => (orders[index] === 'desc' ? `-${key}` : key));
  // A single rising key would be a parameter of the specification, which ignores what it does not know.
  if (sorts.length > 0) query.set('sort', sorts.length === 1 ? `${sorts[0]},created_at` : sorts.join(','));
  if (given.has('_embed')) query.set('include', given.getAll('_embed').join(','));
  const search = given.get(SEARCH) ?? '';
  if (search !== '') query.set('search', search);
  return query;
}

function asArray(reply: Reply, given: URLSearchParams, path: string): Reply {
  const isPage = given.has('_page') || given.has('_limit') || given.has('_per_page');
  const total = Number(/"total":(\d+)/.exec(reply.frame?.[1] ?? metaOf(reply.body ?? ''))?.[1] ?? 0);
  const fields = isPage ? ['X-Total-Count', String(total), ...linkOf(given, path, total)] : [];
  const { frame: _, ...rest } = reply;
  const headers = [...reply.headers, ...fields];
  if (reply.body === undefined) return { ...rest, headers };
  const value = JSON.parse(reply.body) as readonly JsonObject[] | { readonly data: readonly JsonObject[] };
  const records = 'data' in value ? value.data : value;
  return { ...rest, headers, body: JSON.stringify(records.map(withEmbedded)) };
}

const metaOf = (body: string) => body.slice(body.lastIndexOf('"meta":'));

function withEmbedded({ _included, ...record }: JsonObject): JsonObject {
  return { ...record, ...(_included as JsonObject | undefined) };
}

function linkOf(given: URLSearchParams, path: string, total: number): string[] {
  if (!given.has('_page')) return [];
  const limit = Math.max(Number(given.get('_limit') ?? given.get('_per_page')) || DEFAULT_LIMIT, 1);
  const page = Math.max(Number(given.get('_page')) || 1, 1);
  const last = Math.max(Math.ceil(total / limit), 1);
  const to = (number: number, rel: string) => {
    const query = new URLSearchParams(given);
    query.set('_page', String(number));
    return `<${path}?${query}>; rel="${rel}"`;
  };
  const links = [
    to(1, 'first'),
    ...(page > 1 ? [to(page - 1, 'prev')] : []),
    ...(page < last ? [to(page + 1, 'next')] : []),
    to(last, 'last'),
  ];
  return last > 1 && page <= last ? ['Link', links.join(', ')] : [];
}
