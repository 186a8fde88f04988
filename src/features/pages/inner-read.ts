import { permit } from '../../auth/principal.js';
import { Problem } from '../../errors/problem.js';
import { JSON_TYPE } from '../../http/media-types.js';
import { Query } from '../../http/query-parameters.js';
import type { Reply } from '../../http/reply.js';
import type { Request } from '../../http/request.js';
import type { JsonObject } from '../../json.js';
import { ofDocument } from '../../limits/turn.js';
import { summaryOf } from './labels.js';
import type { Site } from './site.js';

/** The parts of the request for a page that the page shows, or that its inner requests repeat. */
export type Caller = Pick<Request, 'id' | 'version' | 'prefix' | 'path' | 'query' | 'headers' | 'principal'>;

/** The fields of a request that inner requests repeat. Conditions and preferences are those of the page. */
export const hostOf = ({ host }: Request['headers']): Request['headers'] =>
  host === undefined ? {} : { host };

/**
 * The JSON of another GET, as the caller of a page gets it. `template`: its path, such as `/issues/:id`, in which `id` stands.
 * Undefined: the caller does not get it. Throws what is no fault of the request.
 */
export async function readAs(
  site: Site,
  caller: Caller,
  template: string,
  query: Readonly<Record<string, string>> | URLSearchParams = {},
  id?: string,
): Promise<JsonObject | undefined> {
  const endpoint = site.routes.get(template)?.actions.GET;
  const { id: requestId, version, prefix, principal } = caller;
  const params = id === undefined ? {} : { id };
  try {
    const reply = await endpoint?.run({
      ...{ id: requestId, version, prefix, principal, params, run: undefined },
      method: 'GET',
      path: template.replace(':id', id ?? ''),
      query: new Query(String(new URLSearchParams(query))),
      headers: hostOf(caller.headers),
      type: JSON_TYPE,
      permission: permit(principal, endpoint.requires, params),
      body: undefined,
    });
    return reply?.status === 200 ? await jsonOf(reply) : undefined;
  } catch (error) {
    if (error instanceof Problem && error.status < 500) return undefined;
    throw error;
  }
}

/**
 * The JSON of an action's reply; undefined: it has none. If the reply is streamed because it is too large for memory, only the
 * beginning of each record.
 */
export async function jsonOf({ body, content }: Reply): Promise<JsonObject | undefined> {
  if (body !== undefined) return ofDocument(body, (json) => json);
  if (content?.kind !== 'documents') return undefined;
  const data: JsonObject[] = [];
  for await (const document of content.read()) data.push(await ofDocument(document, summaryOf));
  const [, end] = content.frame!;
  return { ...(JSON.parse(`{"data":[]${end}`) as JsonObject), data };
}

/** The records of a list, as the caller of a page gets them, and the number of all if `query` does not leave it out. */
export async function readListAs(
  site: Site,
  caller: Caller,
  path: string,
  query: Readonly<Record<string, string>>,
) {
  const json = await readAs(site, caller, path, { page: '1', ...query });
  if (!Array.isArray(json?.data)) return undefined;
  const { total } = (json.meta ?? {}) as { readonly total?: number };
  return { data: json.data as JsonObject[], total: total ?? json.data.length };
}
