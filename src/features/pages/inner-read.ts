import { permit } from '../../auth/principal.js';
import { Problem } from '../../errors/problem.js';
import { beyond } from '../../errors/service-errors.js';
import { JSON_TYPE } from '../../http/media-types.js';
import { Query } from '../../http/query-parameters.js';
import type { Documents, Reply } from '../../http/reply.js';
import type { Request } from '../../http/request.js';
import type { JsonObject } from '../../json.js';
import { ofDocument } from '../../limits/turn.js';
import { VERSIONS } from '../../versions/supported.js';
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
  site: Site,
  caller: Caller,
  path: InnerPath,
  query: InnerQuery,
): Promise<JsonObject | undefined> {
  const reply = await replyTo(site, caller, path, query);
  if (reply?.status !== 200 || reply.body === undefined) return undefined;
  return ofDocument(reply.body, (json) => json);
}

async function replyTo(
  { routes }: Site,
  caller: Caller,
  { template, id }: InnerPath,
  query: InnerQuery,
): Promise<Reply | undefined> {
  const endpoint = routes.get(template)?.actions.GET;
  const { id: requestId, version, prefix, principal, run } = caller;
  const params = id === undefined ? {} : { id };
  const { host } = caller.headers;
  return endpoint?.run({
    ...{ id: requestId, version, prefix, principal, run, params },
    method: 'GET',
    path: template.replace(':id', id ?? ''),
    query: new Query(String(new URLSearchParams(query))),
    headers: host === undefined ? {} : { host },
    type: JSON_TYPE,
    permission: permit(principal, endpoint.requires, params),
    body: undefined,
  });
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

/** The records of a page in parts: all of them, or each alone if together they are too large for memory. */
export interface PageInParts {
  readonly parts: Iterable<List['data']> | AsyncIterable<List['data']>;
  /** The cursor of the next page; undefined: this is the last one. */
  readonly next: string | undefined;
}

/** A page of a list between cursors, as the last version of the API has it. Throws what the list throws. */
export async function readPageAs(
  site: Site,
  caller: Caller,
  path: InnerPath,
  query: InnerQuery,
): Promise<PageInParts> {
  const version = VERSIONS.at(-1)!;
  const { body, content } = (await replyTo(site, { ...caller, version }, path, query)) ?? {};
  if (body !== undefined) {
    const json = await ofDocument(body, (page) => page);
    return { parts: [json.data as JsonObject[]], next: nextIn(json) };
  }
  if (content?.kind !== 'documents') throw beyond('responses');
  return { parts: eachOf(content), next: nextIn(JSON.parse(`{"data":[]${content.frame![1]}`) as JsonObject) };
}

function nextIn({ links }: JsonObject): string | undefined {
  const { next } = links as { readonly next: string | null };
  return next === null
    ? undefined
    : (new URL(next, 'http://localhost').searchParams.get('after') ?? undefined);
}

async function* eachOf({ read }: Documents): AsyncGenerator<List['data']> {
  for await (const document of read()) yield [await ofDocument(document, (json) => json)];
}

function listIn(json: JsonObject | undefined): List | undefined {
  if (!Array.isArray(json?.data)) return undefined;
  const { total } = (json.meta ?? {}) as { readonly total?: number };
  return { data: json.data as JsonObject[], total: total ?? json.data.length };
}
