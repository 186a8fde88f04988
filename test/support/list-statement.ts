import type { Resource } from '../../src/collection/resource.js';
import { type Engine, POSTGRESQL } from '../../src/database-url/engine.js';
import { isPage, type PageRequest } from '../../src/list/list-request.js';
import { type ListStatement, ListStatements } from '../../src/list/list-sql.js';
import { type ListContext, readList } from '../../src/list/read-list.js';

const NUMBERED: ListContext = { lists: 'numbered' };

function pageOf(resource: Resource, query: string, context: ListContext): PageRequest {
  const list = readList(new URLSearchParams(query), { resource }, context);
  if (!isPage(list)) throw new Error(`"${query}" requests no page`);
  return list;
}

/** The statement of the page that an address requests. */
export const pageStatement = (
  resource: Resource,
  query: string,
  context = NUMBERED,
  engine: Engine = POSTGRESQL,
): ListStatement => new ListStatements(resource, engine).page(pageOf(resource, query, context));
