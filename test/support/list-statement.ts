import type { Resource } from '../../src/collection/resource.js';
import type { Engine } from '../../src/db/engine.js';
import { isPage } from '../../src/list/list-request.js';
import { type ListStatement, ListStatements } from '../../src/list/list-sql.js';
import { type ListContext, readList } from '../../src/list/read-list.js';

/** The statement of the page that an address requests. */
export function pageStatement(
  resource: Resource,
  query: string,
  context: ListContext = { lists: 'numbered' },
  engine: Engine = 'postgresql',
): ListStatement {
  const list = readList(new URLSearchParams(query), resource, context);
  if (!isPage(list)) throw new Error(`"${query}" requests no page`);
  return new ListStatements(resource, engine).page(list);
}
