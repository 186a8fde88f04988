import type { Resource } from '../collection/resource.js';
import type { Row } from '../db/db.js';
import type { Parameter } from './comparison-sql.js';
import { type Access, type Condition, hasTerms, hides, hidesFields, OWN_COLUMNS } from './condition.js';
import { grantSql } from './condition-sql.js';
import {
  callersConditions,
  fewConditions,
  fewMatches,
  MAX_MATCHES,
  mayFind,
  nearMatches,
} from './few-matches.js';
import { type FewStatement, numberedRows, PageValues } from './few-pages.js';
import { keysetRows } from './keyset-sql.js';
import type { PageRequest } from './list-request.js';
import { type Orders, TOO_LARGE } from './order-parts.js';
import type { SortKey } from './read-sort.js';
import { partedDocuments, partSql, readableParts } from './readable-columns.js';

/** The collection whose pages statements read, its orders, and the function that fills a named statement. */
export interface FewContext {
  readonly resource: Resource;
  readonly orders: Orders;
  readonly fill: (name: string, parts: Readonly<Record<string, string>>) => string;
  /** The statements of pages of all that callers may read, by their access and by order; undefined: there is none. */
  readonly callers: WeakMap<Access, Map<string, FewStatement | undefined>>;
}

/**
 * Makes, one after the other, the statements each of which reads pages if one of the conditions has few matches: `most` exceeds
 * MAX_MATCHES if it has more. None: the conditions are others.
 */
export function* fewStatements(context: FewContext, list: PageRequest): Generator<FewStatement> {
  const { part, selection } = list;
  if (part.kind === 'numbered' && (part.page - 1) * part.limit > MAX_MATCHES) return;
  if (selection.access) {
    const statement = callersStatement(context, list, selection.access);
    if (statement) yield statement;
    return;
  }
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
  { part, sorts, selection: { access } }: PageRequest,
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
  const parted =
    access && hidesFields(access) ? partsOf(resource, access, order.order!, page.parameter) : undefined;
  const text = () => fill(`page_few_${part.kind}`, { ...order, ...found, ...rows, ...parted, ...page.parts });
  const parts = [found.related, found.matches, order.order, rows.rows, parted?.more, parted?.fields];
  return { key: parts.join('\n'), text, args: page.args, ...(access && parted && { read: readRow(access) }) };
}

/** Reads a page of all that a caller may read, if this has to do with the caller. The callers with equal access have one statement. */
function callersStatement(context: FewContext, list: PageRequest, access: Access): FewStatement | undefined {
  const { part, selection, sorts } = list;
  const [{ field, direction }] = sorts as [SortKey];
  if (part.kind !== 'numbered' || sorts.length > 1 || hasTerms(selection)) return undefined;
  // In the order of the page, fields that the caller may not read would be absent.
  if (!OWN_COLUMNS.has(field) && hides(access, field)) return undefined;
  const statements = context.callers.get(access) ?? new Map<string, FewStatement | undefined>();
  context.callers.set(access, statements);
  const order = `${direction} ${field}`;
  if (!statements.has(order)) statements.set(order, statementFor(context, list, access));
  const known = statements.get(order);
  if (!known) return undefined;
  const page = new PageValues();
  numberedRows(part, page.parameter);
  return { ...known, args: [...page.args, ...known.args.slice(page.args.length)] };
}

function statementFor(context: FewContext, list: PageRequest, access: Access): FewStatement | undefined {
  const conditions = callersConditions(access);
  for (const each of conditions.filter((each) => mayFind(context.resource, each))) {
    const statement = fewStatement(context, list, conditions, each);
    if (statement) return statement;
  }
  return undefined;
}

/** Returns the function that cuts the documents of a page. */
const readRow =
  (access: Access) =>
  (row: Row): Row => {
    const docs = (row.docs as string | null) ?? '';
    return docs.startsWith(TOO_LARGE) ? row : { ...row, docs: readableParts(docs, access) };
  };

/**
 * The parts of a statement whose page has whole documents, each with the grants that decide which of its fields the caller may read.
 * `fields`: those of the grants, which the statement itself does not have.
 */
function partsOf(resource: Resource, access: Access, order: string, parameter: Parameter) {
  const held = access.grants.map(({ conditions }) =>
    grantSql(resource, 'record', conditions, parameter, 'postgresql'),
  );
  const fields = JSON.stringify(access.grants.map(({ fields = null }) => fields));
  return { more: `, ${partSql(access, held)}`, documents: partedDocuments(order), fields };
}
