import { type Engine, statementsOn } from '../db/engine.js';
import { fill } from '../db/statements.js';
import { type Direction, type ListKind, orderParts } from '../list/list-orders.js';
import { nameStatement } from '../telemetry/wait-tracking.js';
import { assignmentSql, parameterSql, rawParameter } from './column.js';
import { DOCUMENT_SQL } from './document.js';
import type { Resource } from './resource.js';

/** Which records a list contains, and in which order. */
export interface Selection {
  readonly sort: string;
  readonly order: Direction;
  /** The texts of which a record contains one, as the searched fields store them; none: all records. */
  readonly search: readonly string[];
  /** The parent's id, if the list is nested. */
  readonly parent?: string;
}

/** The statement that a selection needs, with its values. */
export interface Restriction {
  readonly kind: ListKind;
  /** The further parameters of a page's statement, and the settings of a stream's. */
  readonly settings: Readonly<Record<string, string>>;
  /** Whether the cost grows with what the statement finds or skips. */
  readonly isExpensive: boolean;
}

/** A page that ends before this row is read from the beginning: what precedes it is cheaper to skip than to look up. */
const FIRST_ROWS = 500;

/** Whether a selection has a statement of its own in sql/collection. */
export const isTemplated = ({ parent, search }: Selection): boolean =>
  search.length === 0 || (search.length === 1 && parent === undefined);

/** How to select a page that ends at `end`, or with 0 the whole list. Trigrams need three letters or digits in a row. */
export function restrict({ parent, search, sort }: Selection, end = 0): Restriction {
  if (parent !== undefined)
    return { kind: 'of_parent', settings: { 'plinth.parent': parent }, isExpensive: false };
  const [term] = search;
  if (term === undefined) {
    if (end <= FIRST_ROWS) return { kind: 'all', settings: {}, isExpensive: false };
    const isCounted = sort === 'created_at';
    return { kind: isCounted ? 'counted' : 'deep', settings: {}, isExpensive: !isCounted };
  }
  return /[\p{L}\p{N}]{3}/u.test(term)
    ? {
        kind: 'matching',
        settings: { 'plinth.pattern': `%${term.replace(/[\\%_]/g, '\\$&')}%` },
        isExpensive: true,
      }
    : { kind: 'matching_short', settings: { 'plinth.term': term }, isExpensive: true };
}

/** Statements that a collection has once, by their names in sql/collection; lock_owned and owned only with a parent. */
type Single =
  | 'get'
  | 'get_large'
  | 'exists'
  | 'lock'
  | 'lock_owned'
  | 'owned'
  | 'create'
  | 'create_many'
  | 'replace'
  | 'replace_many'
  | 'remove'
  | 'remove_if';

const FILES = ['read', 'write', 'page', 'search', 'stream'];
const templates = new Map<Engine, ReadonlyMap<string, string>>();

function templatesOn(engine: Engine): ReadonlyMap<string, string> {
  const read =
    templates.get(engine) ??
    new Map(FILES.flatMap((file) => [...statementsOn(engine, `collection/${file}.sql`)]));
  templates.set(engine, read);
  return read;
}

/** A statement of a list. */
export interface ListStatement {
  readonly form: 'page' | 'stream';
  readonly kind: ListKind;
  readonly sort: string;
  readonly order: Direction;
}

/**
 * The statements of one collection. Names come from its declaration, never from a request. Each is made when it is first
 * used: most services never use most of them.
 */
export class Statements {
  readonly #texts = new Map<string, string>();
  readonly #parts: Readonly<Record<string, string>>;
  readonly #templates: ReadonlyMap<string, string>;

  constructor(
    readonly resource: Resource,
    hasTombstones: boolean,
    engine: Engine = 'postgresql',
  ) {
    this.#templates = templatesOn(engine);
    this.#parts = partsOf(resource, hasTombstones);
  }

  /** The text of a statement that the collection has once. */
  of(name: Single): string {
    return this.#texts.get(name) ?? this.#add(name, name, {});
  }

  /** The text of a list's statement. */
  list(statement: ListStatement): string {
    return this.#texts.get(keyOf(statement)) ?? this.#addList(statement);
  }

  #addList(statement: ListStatement): string {
    const { form, kind, sort, order } = statement;
    const name = `${form}${kind === 'all' ? '' : `_${kind}`}`;
    return this.#add(keyOf(statement), name, orderParts(this.resource, sort, order));
  }

  #add(key: string, name: string, more: Readonly<Record<string, string>>): string {
    const text = named(name, this.resource, fill(this.#templates.get(name)!, { ...this.#parts, ...more }));
    this.#texts.set(key, text);
    return text;
  }
}

const keyOf = ({ form, kind, sort, order }: ListStatement) => `${form} ${kind} ${sort} ${order}`;

function named(name: string, resource: Resource, text: string): string {
  nameStatement(text, `${name} ${resource.name}`);
  return text;
}

function partsOf(resource: Resource, hasTombstones: boolean): Record<string, string> {
  const columns = [...resource.columns.values()];
  const names = columns.map(({ name }) => name);
  const { document, separator, tombstone } = DOCUMENT_SQL;
  return {
    table: resource.table,
    name: resource.name,
    document,
    separator,
    first_rows: String(FIRST_ROWS),
    // limit 1: the planner would expect many rows and choose another plan.
    record: `(select * from ${resource.table} as record where record.id = page.id limit 1)`,
    columns: names.map((name) => `, ${name}`).join(''),
    assigned: columns.map((column) => `, ${assignmentSql(column, `record.${column.name}`)}`).join(''),
    unique: resource.unique.map(({ field }) => `${resource.columns.get(field)!.name}, `).join(''),
    given_rows: givenRowsSql(resource),
    values: columns.map((column, index) => `, ${parameterSql(column, index + 4)}`).join(''),
    changes: columns
      .map((column, index) => `,\n    ${assignmentSql(column, rawParameter(column, index + 7))}`)
      .join(''),
    given: columns.map((column, index) => `, ${rawParameter(column, index + 7)}::${column.type}`).join(''),
    has_tombstones: String(hasTombstones),
    parent: parentColumn(resource),
    tombstone: hasTombstones ? '\nunion all select 0, null from tombstones where id = $1' : '',
    tombstones: hasTombstones
      ? `\n  union all select ${tombstone} from tombstones where id = any ($1::uuid[])`
      : '',
  };
}

/** The columns of a collection's table with their types. */
export const definitionsOf = ({ columns }: Resource): string[] => [
  'id uuid',
  'version integer',
  'updated_at timestamptz',
  'doc text',
  ...[...columns.values()].map(({ name, type }) => `${name} ${type}`),
];

/** The rows of a statement's first parameter, a JSON array, with their positions. */
export const givenRowsSql = (resource: Resource): string =>
  `rows from (json_to_recordset($1::text::json) as (${definitionsOf(resource).join(', ')})) with ordinality`;

function parentColumn({ columns, parent }: Resource): string {
  return columns.get(parent?.field ?? '')?.name ?? '';
}
