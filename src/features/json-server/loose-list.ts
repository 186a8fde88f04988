import { largePage, parsedElements, readDocuments } from '../../actions/large-page.js';
import { columnsOf, isLines, linesOf, linesPage } from '../../actions/list-lines.js';
import { MAX_PAGE_BYTES } from '../../collection/document.js';
import { hashedReply } from '../../collection/representation.js';
import type { Resource } from '../../collection/resource.js';
import { databaseErrorOf } from '../../db/database-errors.js';
import { invalidQuery, pageExceeds } from '../../errors/input-errors.js';
import { HTML_TYPE, JSON_TYPE } from '../../http/media-types.js';
import { readConditions } from '../../http/preconditions.js';
import { NO_QUERY, Query, requireParameters } from '../../http/query-parameters.js';
import type { Reply } from '../../http/reply.js';
import type { Request } from '../../http/request.js';
import type { Action } from '../../http/router.js';
import type { JsonObject } from '../../json.js';
import { MAX_LARGE_RECORDS } from '../../list/list-request.js';
import { type View, WHOLE } from '../../list/read-fields-and-includes.js';
import { listParameters } from '../../list/read-list.js';
import { newIdOf } from './loose-ids.js';
import { type JsonServerQuery, readQuery } from './loose-query.js';
import { addRelations, fitsEach, type Source } from './loose-relations.js';
import { sliceOf } from './loose-sql.js';

/** The parameters of this service's lists, whose responses stay as they are. */
const NATIVE =
  /^(?:page|limit|sort|order|search|filter|fields|include|excerpts|count|group|aggregate|after|before)(?:\[|$)/;

/** The parameter of a path, which no template names, with the field by which the records of a list refer to the record in the path. */
export const BELOW = 'below';

/**
 * A list with the parameters and responses of json-server 0.17 (COMPAT=json-server). Lists as HTML, those between
 * cursors, and those with a parameter of this service stay as they are. `nestedBy`: the field by which the records of a
 * nested list refer to the record above them. The list below a missing record is empty.
 */
export function asJsonServer(list: Action, source: Source, nestedBy?: string): Action {
  return {
    ...list,
    run: async (request) => {
      const given = request.query.parameters;
      const isOther = request.type === HTML_TYPE || request.version.lists === 'keyset';
      const isNative = [...given.keys()].some((name) => NATIVE.test(name) && !isField(source, name));
      const parentField = nestedBy ?? request.params[BELOW];
      const offer = { parameters: listParameters(source.collection.resource) };
      if (isNative && !isOther) requireParameters(offer, [...given.keys()], request.version);
      if (isOther || isNative)
        return list.run(
          parentField === undefined ? request : await below(source, request, parentField, nestedBy),
        );
      const query = readQuery(given);
      return isEverything(query) && parentField === undefined
        ? list.run({ ...request, query: NO_QUERY })
        : looseList(source, request, given, query, parentField);
    },
  };
}

/** A request with the new id of the record in the path. Without `nestedBy` the list has all records, so that it is filtered. */
async function below(
  source: Source,
  request: Request,
  field: string,
  nestedBy: string | undefined,
): Promise<Request> {
  const { collection, related } = source;
  const { params, query } = request;
  const { to } = collection.resource.references.find((each) => each.field === field)!;
  const above = related.find(({ resource }) => resource.name === to)!;
  const id = (await newIdOf(above, params.id ?? '', request)) ?? NO_RECORD;
  if (nestedBy !== undefined) return { ...request, params: { ...params, id } };
  const conditions = [query.text, `filter[${field}]=${id}`].filter((each) => each !== '');
  return { ...request, query: new Query(conditions.join('&')) };
}

/** A declared field with the name of a parameter is filtered by. */
const isField = ({ collection }: Source, name: string) =>
  Object.hasOwn(collection.resource.schema.properties, name);

/** Whether a query is that of the streamed array of all records. */
const isEverything = ({ conditions, term, sorts, isSlice, embed, expand }: JsonServerQuery) =>
  conditions.length + sorts.length + embed.length + expand.length === 0 && term === '' && !isSlice;

async function looseList(
  source: Source,
  request: Request,
  given: URLSearchParams,
  query: JsonServerQuery,
  parentField: string | undefined,
): Promise<Reply> {
  const { resource } = source.collection;
  const others = new Map(source.related.map((each) => [each.resource.name, each.resource]));
  const nested = { field: parentField ?? '', operator: 'eq', values: [request.params.id ?? ''] } as const;
  const own = query.conditions.filter(({ field, operator }) => field !== parentField || operator !== 'eq');
  const conditions = parentField === undefined ? own : [...own, nested];
  const slice = sliceOf({ ...query, conditions }, resource, others);
  const page = await source.as(request).slice(slice, request.run).catch(fail);
  const total = page.total!;
  const headers = query.isSlice
    ? [
        'X-Total-Count',
        String(total),
        ...linkOf(query, given, request, total, source.originOf(request.headers)),
      ]
    : [];
  const { documents, ids } = page;
  if (documents === undefined) return largeReply(source, ids, query, request, headers);
  if (request.type === JSON_TYPE && !hasRelations(query))
    return smallReply(`[${documents.join(',')}]`, request, headers);
  const records = await parsedElements(documents.join(','));
  const found = records.map(({ id }) => String(id));
  if (!(await addRelations(source, records, query, request)))
    return largeReply(source, found, query, request, headers);
  if (request.type === JSON_TYPE) return smallReply(JSON.stringify(records), request, headers);
  const preconditions = readConditions(request.headers);
  return linesPage(request.type, { resource }, records, shownIn(resource, query), headers, preconditions);
}

/** SQLSTATE of a pattern that is no regular expression. */
const INVALID_PATTERN = '2201B';

function fail(error: unknown): never {
  const isPattern = databaseErrorOf(error)?.code === INVALID_PATTERN;
  throw isPattern ? invalidQuery('_like', 'must be a regular expression') : error;
}

const hasRelations = ({ embed, expand }: JsonServerQuery) => embed.length + expand.length > 0;

/** The fields of each record in lines: as CSV, columns for related records as well. */
const shownIn = (resource: Resource, { embed, expand }: JsonServerQuery): View => ({
  fields: [...columnsOf({ resource }, WHOLE), ...embed, ...expand],
  include: [],
});

function smallReply(body: string, request: Request, headers: readonly string[]): Reply {
  return hashedReply(JSON_TYPE, body, readConditions(request.headers), { more: headers });
}

/** The documents one by one. Throws 413 for too many. */
async function largeReply(
  source: Source,
  ids: readonly string[],
  query: JsonServerQuery,
  request: Request,
  headers: readonly string[],
): Promise<Reply> {
  if (ids.length > MAX_LARGE_RECORDS) throw pageExceeds(MAX_PAGE_BYTES);
  const { type } = request;
  const { resource } = source.collection;
  // The response has begun when the related records of one are read.
  if (!(await fitsEach(source, ids, query, request))) throw pageExceeds(MAX_PAGE_BYTES);
  async function* documents() {
    for await (const doc of readDocuments(source.as(request), ids, request.run)) {
      if (!hasRelations(query)) yield doc;
      else {
        const record = JSON.parse(doc) as JsonObject;
        if (!(await addRelations(source, [record], query, request))) throw pageExceeds(MAX_PAGE_BYTES);
        yield JSON.stringify(record);
      }
    }
  }
  const form = isLines(type) ? { lines: linesOf(type, { resource }, shownIn(resource, query), true) } : {};
  return largePage(type, form, headers, documents);
}

const NO_RECORD = '00000000-0000-0000-0000-000000000000';

function linkOf(
  { page }: JsonServerQuery,
  given: URLSearchParams,
  request: Request,
  total: number,
  origin: string,
): string[] {
  if (!page) return [];
  const last = Math.max(Math.ceil(total / page.limit), 1);
  const to = (number: number, rel: string) => {
    const query = new URLSearchParams(given);
    query.set('_page', String(number));
    return `<${origin}${request.prefix}${request.path}?${query}>; rel="${rel}"`;
  };
  const links = [
    to(1, 'first'),
    ...(page.number > 1 ? [to(page.number - 1, 'prev')] : []),
    ...(page.number < last ? [to(page.number + 1, 'next')] : []),
    to(last, 'last'),
  ];
  return last > 1 && page.number <= last ? ['Link', links.join(', ')] : [];
}
