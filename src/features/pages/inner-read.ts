import { permit } from '../../auth/principal.js';
import { Problem } from '../../errors/problem.js';
import { beyond } from '../../errors/service-errors.js';
import { JSON_TYPE } from '../../http/media-types.js';
import { Query } from '../../http/query-parameters.js';
import type { Request } from '../../http/request.js';
import type { JsonObject } from '../../json.js';
import { ofDocument } from '../../limits/turn.js';
import type { Site } from './site.js';

/** The parts of the request for a page that its inner requests repeat. */
export type Caller = Pick<Request, 'id' | 'version' | 'prefix' | 'headers' | 'principal' | 'run'>;

/** A path by its template, such as `/issues/:id`, with the id that stands in it. */
export interface InnerPath {
  readonly template: string;
  readonly id?: string;
}

/** The parameters of an inner request, of which some may be repeated. */
type InnerQuery = Readonly<Record<string, string>> | URLSearchParams;

/**
 * The JSON of another GET, as the caller of a page gets it: pages read nothing else. Undefined: the caller does not get it,
 * or it is too large for memory. Throws what is no fault of the request.
 */
export async function readAs(
  site: Site,
  caller: Caller,
  path: InnerPath,
  query: Readonly<Record<string, string>> = {},
): Promise<JsonObject | undefined> {
  try {
    return await readOrThrow(site, caller, path, query);
  } catch (error) {
    if (error instanceof Problem && error.status < 500) return undefined;
    throw error;
  }
}

/** The JSON of another GET. Throws what the GET throws, also for a fault of the request. */
async function readOrThrow(
  { routes }: Site,
  caller: Caller,
  { template, id }: InnerPath,
  query: InnerQuery,
): Promise<JsonObject | undefined> {
  const endpoint = routes.get(template)?.actions.GET;
  if (!endpoint) return undefined;
  const { id: requestId, version, prefix, principal, run } = caller;
  const params = id === undefined ? {} : { id };
  const { host } = caller.headers;
  const { status, body } = await endpoint.run({
    ...{ id: requestId, version, prefix, principal, run, params },
    method: 'GET',
    path: template.replace(':id', id ?? ''),
    query: new Query(String(new URLSearchParams(query))),
    headers: host === undefined ? {} : { host },
    type: JSON_TYPE,
    permission: permit(principal, endpoint.requires, params),
    body: undefined,
  });
  return status === 200 && body !== undefined ? await ofDocument(body, (json) => json) : undefined;
}

/** Records of a list, and the number of all that it selects. */
export interface List {
  readonly data: readonly JsonObject[];
  readonly total: number;
}

/** The records of a list, as the caller of a page gets them, and their number if `query` does not leave it out. */
export async function readListAs(
  site: Site,
  caller: Caller,
  path: InnerPath,
  query: Readonly<Record<string, string>>,
): Promise<List | undefined> {
  return listIn(await readAs(site, caller, path, { page: '1', ...query }));
}

/** The records of a numbered page of a list, and their number. Throws what the list throws; 503 if they are too large for memory. */
export async function readPageAs(
  site: Site,
  caller: Caller,
  path: InnerPath,
  query: InnerQuery,
): Promise<List> {
  const list = listIn(await readOrThrow(site, caller, path, query));
  if (!list) throw beyond('responses');
  return list;
}

function listIn(json: JsonObject | undefined): List | undefined {
  if (!Array.isArray(json?.data)) return undefined;
  const { total } = (json.meta ?? {}) as { readonly total?: number };
  return { data: json.data as JsonObject[], total: total ?? json.data.length };
}
