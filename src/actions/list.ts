import type { Collection } from '../collection.js';
import { absent } from '../errors.js';
import { listPage } from '../formats/html.js';
import { type ListQuery, readListQuery } from '../http/list-query.js';
import type { Reply } from '../http/reply.js';
import { HTML_HEADERS, HTML_TYPE, hrefOf, JSON_TYPE } from '../http/representation.js';
import type { Action } from '../http/router.js';
import type { JsonObject } from '../json.js';
import { parseUuid } from '../uuid.js';

const LIST_TYPES = [JSON_TYPE, HTML_TYPE];

/** The records of a collection, as a page or as one streamed array: 200, 406. */
export function list(collection: Collection): Action {
  return {
    offers: LIST_TYPES,
    run: ({ path, query, type }) => answer(collection, path, readListQuery(query, collection.resource), type),
  };
}

/** The records below one parent: as `list`, and 404 when there is no such parent. */
export function listNested(collection: Collection, parent: Collection): Action {
  return {
    offers: LIST_TYPES,
    run: async ({ path, params, query, type }) => {
      const id = parseUuid(params.id ?? '');
      if (id === undefined || !(await parent.exists(id))) {
        throw absent(parent.resource.singular, type === JSON_TYPE ? parent.resource.absent : 'empty');
      }
      return answer(collection, path, readListQuery(query, collection.resource, id), type);
    },
  };
}

/** People get a page whatever was asked: a browser cannot show an array of a million rows. */
function answer(
  collection: Collection,
  path: string,
  query: ListQuery,
  type: string,
): Promise<Reply> | Reply {
  const asPage = query.paged || (collection.resource.list === 'page' && !query.filtered);
  if (asPage || type === HTML_TYPE) return page(collection, path, query, type);
  return {
    status: 200,
    headers: ['Content-Type', JSON_TYPE],
    stream: (consume) => collection.stream(query.selection, consume),
  };
}

async function page(collection: Collection, path: string, query: ListQuery, type: string): Promise<Reply> {
  const { page, limit, selection } = query;
  const { total, docs } = await collection.page(
    selection,
    limit,
    Math.min((page - 1) * limit, Number.MAX_SAFE_INTEGER),
  );
  const totalPages = Math.ceil(total / limit);
  const links = linksOf(path, query, totalPages);
  if (type === HTML_TYPE) {
    const records = docs.map((doc) => JSON.parse(doc) as JsonObject);
    const title = `${collection.resource.name}: page ${page} of ${Math.max(totalPages, 1)}, ${total} in all`;
    return {
      status: 200,
      headers: HTML_HEADERS,
      body: listPage(
        title,
        records,
        (record) => hrefOf(collection.resource, String(record.id)),
        given(links),
      ),
    };
  }
  const meta = `{"page":${page},"limit":${limit},"total":${total},"totalPages":${totalPages}}`;
  const body = `{"data":[${docs.join(',')}],"meta":${meta},"links":${JSON.stringify(links)}}`;
  return { status: 200, headers: ['Content-Type', JSON_TYPE], body };
}

interface Links {
  readonly self: string;
  readonly next: string | null;
  readonly prev: string | null;
  readonly first: string;
  readonly last: string;
}

function linksOf(path: string, { page, limit, suffix }: ListQuery, totalPages: number): Links {
  const to = (number: number) => `${path}?page=${number}&limit=${limit}${suffix}`;
  const last = Math.max(totalPages, 1);
  return {
    self: to(page),
    next: page < last ? to(page + 1) : null,
    prev: page > 1 ? to(Math.min(page - 1, last)) : null,
    first: to(1),
    last: to(last),
  };
}

function given(links: Links): Record<string, string> {
  const { first, prev, next, last } = links;
  return Object.fromEntries(
    Object.entries({ first, prev, next, last }).filter((link): link is [string, string] => link[1] !== null),
  );
}
