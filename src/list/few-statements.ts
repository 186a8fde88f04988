import type { Resource } from '../collection/resource.js';
import type { Condition } from './condition.js';
import { fewConditions, fewMatches, MAX_MATCHES, mayFind, nearMatches } from './few-matches.js';
import { type FewStatement, numberedRows, PageValues } from './few-pages.js';
import { keysetRows } from './keyset-sql.js';
import type { PageRequest } from './list-request.js';
import type { Orders } from './order-parts.js';
import type { SortKey } from './read-sort.js';

/** The collection whose pages statements read, its orders, and the function that fills a named statement. */
export interface FewContext {
  readonly resource: Resource;
  readonly orders: Orders;
  readonly fill: (name: string, parts: Readonly<Record<string, string>>) => string;
}

/**
 * Makes, one after the other, the statements each of which reads pages if one of the conditions has few matches: `most` exceeds
 * MAX_MATCHES if it has more. None: the conditions are others.
 */
export function* fewStatements(context: FewContext, list: PageRequest): Generator<FewStatement> {
  const { part, selection } = list;
  if (part.kind === 'numbered' && (part.page - 1) * part.limit > MAX_MATCHES) return;
  const conditions = fewConditions(context.resource, selection);
  const finding = conditions.filter((each) => mayFind(context.resource, each));
  const near = conditions.length === 1 && finding[0] ? nearStatement(context, list, finding[0]) : undefined;
  if (near) yield near;
  for (const each of finding) {
    const statement = fewStatement(context, list, conditions, each);
    if (statement) yield statement;
  }
}

/** Reads pages in the default order, whose records the index of a condition has in this order. */
function nearStatement(
  { resource, orders, fill }: FewContext,
  { part, sorts, counts }: PageRequest,
  condition: Condition,
): FewStatement | undefined {
  const [{ field, direction }] = sorts as [SortKey];
  if (part.kind !== 'numbered' || field !== 'created_at') return undefined;
  const page = new PageValues();
  const end = part.page * part.limit;
  const bounds = [part.limit, end - part.limit, end].map((each) => page.parameter(String(each), 'bigint'));
  const list = { resource, direction, counts };
  const found = nearMatches(list, condition, bounds as [string, string, string], page.parameter);
  if (!found) return undefined;
  const text = () => fill('page_few_near', { ...orders.of(sorts, undefined), ...found, ...page.parts });
  return { key: [found.related, found.total, found.near].join('\n'), text, args: page.args };
}

/** Reads pages of matches that one of the conditions finds. */
function fewStatement(
  { resource, orders, fill }: FewContext,
  { part, sorts }: PageRequest,
  conditions: readonly Condition[],
  finding: Condition,
): FewStatement | undefined {
  const page = new PageValues();
  const rows =
    part.kind === 'numbered'
      ? numberedRows(part, page.parameter)
      : part.keyset.keys.length === 0 && keysetRows(part, page.parameter);
  const order = orders.of(sorts, undefined);
  const found = rows && fewMatches(resource, conditions, finding, order.keys!, page.parameter);
  if (!found) return undefined;
  const text = () => fill(`page_few_${part.kind}`, { ...order, ...found, ...rows, ...page.parts });
  return { key: [found.related, found.matches, order.order, rows.rows].join('\n'), text, args: page.args };
}
