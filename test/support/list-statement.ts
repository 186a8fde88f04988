import type postgres from 'postgres';
import type { Resource } from '../../src/collection/resource.js';
import { type Engine, POSTGRESQL } from '../../src/database-url/engine.js';
import { isPage, type PageRequest } from '../../src/list/list-request.js';
import { type ListStatement, ListStatements } from '../../src/list/list-sql.js';
import { type ListContext, readList } from '../../src/list/read-list.js';

/** A node of a plan of PostgreSQL. */
export interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Plan Rows': number;
  readonly 'Actual Rows'?: number;
  readonly 'Actual Loops'?: number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly Plan[];
}

const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

/** All nodes of the plan of a statement. */
export async function planOf(
  sql: postgres.Sql,
  { text, args }: Pick<ListStatement, 'text' | 'args'>,
  options = 'format json',
): Promise<Plan[]> {
  const [row] = await sql.unsafe(`explain (${options}) ${text}`, [...args]);
  return nodesOf((row!['QUERY PLAN'] as { Plan: Plan }[])[0]!.Plan);
}

/** Whether a plan reads a table as a whole. */
export const scans = (nodes: readonly Plan[]): boolean =>
  nodes.some((node) => node['Node Type'] === 'Seq Scan');

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
