import { fill, readStatements } from '../db/statements.js';
import { nameStatement } from '../telemetry/wait-tracking.js';
import { DOCUMENT_SQL } from './document.js';
import { type Direction, type ListKind, ordersOf } from './list-orders.js';
import type { Resource } from './resource.js';

/** Which records a list contains, and in which order. */
export interface Selection {
  readonly sort: string;
  readonly order: Direction;
  readonly search: string;
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

/** How to select a page that ends at `end`, or with 0 the whole list. Trigrams need three letters or digits in a row. */
export function restrict({ parent, search, sort }: Selection, end = 0): Restriction {
  if (parent !== undefined)
    return { kind: 'of_parent', settings: { 'plinth.parent': parent }, isExpensive: false };
  if (search === '') {
    if (end <= FIRST_ROWS) return { kind: 'all', settings: {}, isExpensive: false };
    const isCounted = sort === 'created_at';
    return { kind: isCounted ? 'counted' : 'deep', settings: {}, isExpensive: !isCounted };
  }
  return /[\p{L}\p{N}]{3}/u.test(search)
    ? {
        kind: 'matching',
        settings: { 'plinth.pattern': `%${search.replace(/[\\%_]/g, '\\$&')}%` },
        isExpensive: true,
      }
    : { kind: 'matching_short', settings: { 'plinth.term': search }, isExpensive: true };
}

/** Statements that every collection has once, by their names in sql/collection. */
const SINGLE = [
  'get',
  'get_large',
  'exists',
  'lock',
  'lock_owned',
  'owned',
  'create',
  'create_many',
  'replace',
  'replace_many',
  'remove',
  'remove_if',
] as const;
type Single = (typeof SINGLE)[number];

/** Statements that only a collection with a parent has. */
const OF_PARENTS: ReadonlySet<string> = new Set(['lock_owned', 'owned']);

const TEMPLATES: ReadonlyMap<string, string> = new Map(
  ['read', 'write', 'page', 'search', 'stream'].flatMap((file) => [
    ...readStatements(`collection/${file}.sql`),
  ]),
);

/** A statement of a list. */
export interface ListStatement {
  readonly form: 'page' | 'stream' | 'bounded_stream';
  readonly kind: ListKind;
  readonly sort: string;
  readonly order: Direction;
}

/** The statements of one collection. Names come from its declaration, never from a request. */
export class Statements {
  readonly #single = new Map<string, string>();
  readonly #lists = new Map<string, string>();

  constructor(
    readonly resource: Resource,
    hasTombstones: boolean,
  ) {
    const parts = partsOf(resource, hasTombstones);
    for (const name of SINGLE)
      if (resource.parent || !OF_PARENTS.has(name))
        this.#single.set(name, named(name, resource, fill(TEMPLATES.get(name)!, parts)));
    for (const [name, template] of TEMPLATES) this.#addLists(name, template, parts);
  }

  /** The text of a statement that the collection has once. */
  of(name: Single): string {
    return this.#single.get(name)!;
  }

  /** The text of a list's statement. */
  list(statement: ListStatement): string {
    return this.#lists.get(keyOf(statement))!;
  }

  /** Every statement that PostgreSQL can describe; COPY is not among them. */
  describable(): string[] {
    return [...this.#single.values(), ...this.#lists.values()].filter((text) => !text.startsWith('copy'));
  }

  #addLists(name: string, template: string, parts: Readonly<Record<string, string>>): void {
    const [, form, rest = 'all'] = /^(page|stream)(?:_(.*))?$/.exec(name) ?? [];
    const kind = rest as ListKind;
    if (form === undefined || !appliesTo(this.resource, kind)) return;
    for (const { sort, order, ...orderParts } of ordersOf(kind, this.resource)) {
      const all = { ...parts, ...orderParts };
      const add = (form: ListStatement['form'], bounds: string) =>
        this.#lists.set(
          keyOf({ form, kind, sort, order }),
          named(name, this.resource, fill(template, { ...all, bounds })),
        );
      add(form as 'page' | 'stream', '');
      if (form === 'stream') add('bounded_stream', BOUNDS);
    }
  }
}

const keyOf = ({ form, kind, sort, order }: ListStatement) => `${form} ${kind} ${sort} ${order}`;

function named(name: string, resource: Resource, text: string): string {
  nameStatement(text, `${name} ${resource.name}`);
  return text;
}

function partsOf(resource: Resource, hasTombstones: boolean): Record<string, string> {
  const columns = Object.values(resource.columns);
  const { document, separator, tombstone } = DOCUMENT_SQL;
  return {
    table: resource.name,
    document,
    separator,
    first_rows: String(FIRST_ROWS),
    // limit 1: the planner would expect many rows and choose another plan.
    record: `(select * from ${resource.name} as record where record.id = page.id limit 1)`,
    columns: columns.map((column) => `, ${column}`).join(''),
    assigned: columns.map((column) => `, ${column} = record.${column}`).join(''),
    unique: Object.values(resource.unique ?? {})
      .map(({ field }) => `${resource.columns[field]}, `)
      .join(''),
    values: columns.map((_, index) => `, $${index + 4}`).join(''),
    changes: columns.map((column, index) => `,\n    ${column} = $${index + 7}`).join(''),
    parent: parentColumn(resource),
    tombstone: hasTombstones ? '\nunion all select 0, null from tombstones where id = $1' : '',
    tombstones: hasTombstones
      ? `\n  union all select ${tombstone} from tombstones where id = any ($1::uuid[])`
      : '',
  };
}

/** The limit and offset of a streamed page. */
const BOUNDS = `
  limit current_setting('plinth.limit')::bigint
  offset current_setting('plinth.offset')::bigint`;

function appliesTo(resource: Resource, kind: ListKind): boolean {
  if (kind === 'of_parent') return resource.parent !== undefined;
  return !kind.startsWith('matching') || resource.searchable !== undefined;
}

function parentColumn({ columns, parent }: Resource): string {
  return columns[parent?.field ?? ''] ?? '';
}
