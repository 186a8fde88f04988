import { MAX_PAGE_BYTES } from '../collection/document.js';
import { type Resource, searchSql } from '../collection/resource.js';
import type { Engine } from '../database-url/engine.js';
import type { Value } from '../db/db.js';
import { fill, statementsOn } from '../db/statements.js';
import { invalidQuery } from '../errors/input-errors.js';
import { nameStatement } from '../telemetry/wait-tracking.js';
import { type Parameter, parametersIn } from './comparison-sql.js';
import { type Access, EVERYTHING, type ExpressedSelection, hasTerms, isSearch } from './condition.js';
import { accessibleSql, parentColumn, recordsSql, totalSql } from './condition-sql.js';
import { type Keyset, keysetOf } from './keyset.js';
import { keysetSql } from './keyset-sql.js';
import type { ListRequest, NumberedPart, PageRequest, SliceRequest } from './list-request.js';
import { documentsOf, Orders, rankedParts, TOO_LARGE } from './order-parts.js';
import { joinedSql, outerOrder, partsOf, rowsSql, wholeOrder } from './ordered-rows.js';
import type { SortKey } from './read-sort.js';
import { pairsSql } from './record-source.js';
import { referringParts } from './referring-parts.js';
import { hasTrigram, searchValue } from './search-sql.js';
import { sliceParts } from './slice-sql.js';

/** A page that ends before this row is read from the beginning: what precedes it is cheaper to skip than to look up. */
const FIRST_ROWS = 500;

/**
 * `short`: one of few texts, whose cost depends on the page alone. `search`: one of few texts, whose cost grows with the
 * records that it finds or skips. `query`: a text of its own for each combination of conditions.
 */
type Cost = 'short' | 'search' | 'query';

/** How the records of a numbered page are found: the name of a statement, and the values of its conditions. */
interface Finding {
  readonly name:
    | 'page_first'
    | 'page_counted'
    | 'page_deep'
    | 'page_of_parent'
    | 'page_matching'
    | 'page_matching_short'
    | 'page_found'
    | 'page_queried';
  readonly values: readonly string[];
  readonly cost: Cost;
}

/** The statements in place of those that only Citus has. */
const COMMON: Readonly<Partial<Record<Finding['name'], Finding['name']>>> = {
  page_deep: 'page_found',
  page_of_parent: 'page_found',
  page_matching_short: 'page_matching',
};

/** A statement with its parameters. Names in it come from the declaration, values are parameters. */
export interface ListStatement {
  readonly text: string;
  readonly args: readonly Value[];
  readonly cost: Cost;
}

/** Makes the statements of the lists of one collection. */
export class ListStatements {
  /** Texts that do not depend on the conditions of a request, by kind and order. */
  readonly #texts = new Map<string, string>();
  readonly #orders: Orders;
  readonly #templates: ReadonlyMap<string, string>;

  constructor(
    readonly resource: Resource,
    readonly engine: Engine,
  ) {
    this.#orders = new Orders(resource);
    this.#templates = statementsOn(engine, 'collection/list.sql');
  }

  /** The template of the pages of all that callers may read. */
  get ofCallers(): string {
    return this.#templates.get('page_of_callers')!;
  }

  /** Reads a page: for a numbered one its `total` and `docs`, for one between cursors the columns that keysetSql names. */
  page(list: PageRequest): ListStatement {
    const { part } = list;
    this.#requireOwnOrder(list);
    if (part.kind === 'numbered') return this.#numbered(list, part);
    const { text, args } = keysetSql(this.resource, list, part, this.engine);
    const { conditions, access } = list.selection;
    const isPlain = part.keyset.keys.length + conditions.length === 0 && !isSearch(list.selection) && !access;
    return { text, args, cost: isPlain ? 'short' : 'query' };
  }

  /** Citus joins no tables by other columns than those that distribute them. Throws 400. */
  #requireOwnOrder({ sorts }: ListRequest): void {
    if (!this.engine.correlates && sorts.some(({ related }) => related))
      throw invalidQuery('sort', 'names a member of a related record, which is not possible on Citus');
  }

  #numbered(list: ListRequest, { page, limit }: NumberedPart): ListStatement {
    const offset = Math.min((page - 1) * limit, Number.MAX_SAFE_INTEGER);
    const keyset = partsOf(this.resource, list);
    if (keyset) return this.#inParts(list, keyset, offset, limit);
    const { name, values, cost } = findingOf(list, offset + limit, this.engine);
    const args: Value[] = [limit, offset, ...values];
    const text = cost === 'query' ? this.#page(name, list, parametersIn(args)) : this.#known(name, list);
    return { text, args, cost };
  }

  /** Reads a page of a list that no index has in its order. */
  #inParts(list: ListRequest, keyset: Keyset, offset: number, limit: number): ListStatement {
    const { selection, counts } = list;
    const args: Value[] = [limit, offset];
    const parameter = parametersIn(args);
    const records = recordsSql(this.resource, selection, parameter, this.engine);
    const end = parameter(String(offset + limit), 'bigint');
    const scan = { keyset, records, isRestricted: hasTerms(selection) };
    const rows = rowsSql(
      { ...scan, position: undefined, isBackward: false, limit: end },
      this.engine,
      parameter,
    );
    const total = counts ? `(${totalSql(this.resource, selection, records)})` : 'null::bigint';
    const text = `select ${total} as total${counts ? '' : ', count(*) as rows'}, ${documentsOf(outerOrder(keyset, 'record.'))} as docs
from (select * from (${rows}) as record order by ${outerOrder(keyset)} limit $1::bigint offset $2::bigint) as record`;
    return { text, args, cost: 'query' };
  }

  /** The text of a statement that does not depend on conditions. */
  #known(name: Finding['name'], list: ListRequest): string {
    const [{ field, direction }] = list.sorts as [SortKey];
    const key = `${name} ${field} ${direction}`;
    const known = this.#texts.get(key);
    if (known !== undefined) return known;
    const template = this.#templates.has(name) ? name : COMMON[name]!;
    const text = this.#page(template, list, parametersIn([0, 0]));
    nameStatement(text, `${name === 'page_first' ? 'page' : name} ${this.resource.name}`);
    this.#texts.set(key, text);
    return text;
  }

  #page(name: Finding['name'], list: ListRequest, parameter: Parameter): string {
    const { selection, sorts, counts } = list;
    const records = recordsSql(this.resource, selection, parameter, this.engine);
    const total = counts ? totalSql(this.resource, selection, records) : 'select null::bigint as total';
    const rows = (number: string) => (counts ? '' : `, ${number} as rows`);
    const parts = { number_of_rows: rows('count(*)'), number_in_page: rows('(select count(*) from page)') };
    const source = this.#source(name, selection.access, parameter);
    return this.#fill(name, {
      records,
      total,
      source,
      ...parts,
      ...this.#orders.of(sorts, selection.access),
      ...(selection.words?.isRanked ? rankedParts(source) : {}),
    });
  }

  /** The records of which a statement reads some by their ids. `parameter` adds the values of `access` to the statement. */
  #source(name: string, access: Access | undefined, parameter: Parameter): string {
    const isRead = access && /:(source|record)\b/.test(this.#templates.get(name)!);
    return accessibleSql(this.resource, 'record', isRead ? access : undefined, parameter, this.engine);
  }

  #fill(name: string, parts: Readonly<Record<string, string>> & { readonly source?: string }): string {
    const { resource } = this;
    const { source = `${resource.table} as record`, more = '' } = parts;
    return fill(this.#templates.get(name)!, {
      table: resource.table,
      name: resource.name,
      parent: parentColumn(resource),
      search: resource.searchable.length === 0 ? '' : searchSql(resource),
      // limit 1: the planner would expect many rows and choose another plan.
      record: `(select *${more} from ${source} where record.id = page.id limit 1)`,
      rank: '',
      first_rows: String(FIRST_ROWS),
      max_bytes: String(MAX_PAGE_BYTES),
      too_large: TOO_LARGE,
      ...parts,
    });
  }

  /** Reads the documents of all that a list selects, by COPY. It takes no parameters: the values are settings. */
  stream(list: ListRequest): {
    readonly text: string;
    readonly settings: Readonly<Record<string, string>>;
  } {
    const { selection, sorts } = list;
    this.#requireOwnOrder(list);
    const settings: Record<string, string> = {};
    const parameter: Parameter = (value, type = 'text') => {
      const place = Object.keys(settings).length + 1;
      settings[`plinth.value_${place}`] = value;
      return this.engine.correlates
        ? `current_setting('plinth.value_${place}')::${type}`
        : `($1)[${place}]::${type}`;
    };
    const records = recordsSql(this.resource, selection, parameter, this.engine);
    const keyset = sorts.some(({ related }) => related)
      ? keysetOf(this.resource, sorts, selection.access)
      : undefined;
    const isMatching = !keyset && isSearch(selection) && this.engine.correlates;
    const name = isMatching ? 'stream_matching' : 'stream';
    const source = this.#source(name, selection.access, parameter);
    const values = Object.keys(settings).map((each) => `current_setting('${each}')`);
    const text = this.#fill(name, {
      source,
      records: keyset ? joinedSql(records, keyset, this.engine) : records,
      settings: values.length === 0 ? 'null' : `array[${values.join(', ')}]::text[]`,
      ...(keyset ? { order: wholeOrder(keyset) } : this.#orders.of(sorts, selection.access)),
    });
    const found = findingOf({ ...list, counts: true }, 0, this.engine);
    const form = found.name === 'page_first' ? 'stream' : found.name.replace('page', 'stream');
    if (found.cost !== 'query') nameStatement(text, `${form} ${this.resource.name}`);
    return { text, settings };
  }

  /** Reads the records of a slice: its `total` and `docs`. */
  slice(request: SliceRequest): ListStatement {
    const args: Value[] = [];
    const parts = sliceParts(this.resource, request, this.engine, parametersIn(args));
    return { text: this.#fill('page_slice', parts), args, cost: 'query' };
  }

  /** Reads the ids of what is selected, up to a limit, in the order in which records are locked. */
  ids(selection: ExpressedSelection, limit: number): ListStatement {
    const args: Value[] = [limit];
    const records = recordsSql(this.resource, selection, parametersIn(args), this.engine);
    return { text: this.#fill('ids', { records }), args, cost: 'query' };
  }

  /** Counts the records that refer to some by any of the columns, each once: `parent`, and the number as `total`. */
  referringCounts(
    columns: readonly string[],
    ids: readonly string[],
    access: Access | undefined,
  ): ListStatement {
    const args: Value[] = [`{${ids.join(',')}}`];
    const records = recordsSql(this.resource, { ...EVERYTHING, access }, parametersIn(args), this.engine);
    const references = columns.map((column) => pairsSql(this.resource, column, records)).join(' union ');
    return { text: this.#fill('referring_counts', { references }), args, cost: 'query' };
  }

  /**
   * Reads the records that refer to some, up to `limit` each: `parent`, and the documents as `docs`. Instead of documents of
   * more than MAX_PAGE_BYTES, which it does not read, it returns TOO_LARGE.
   */
  referring(
    column: string,
    ids: readonly string[],
    limit: number,
    access: Access | undefined,
  ): ListStatement {
    const args: Value[] = [`{${ids.join(',')}}`, limit];
    const { name, parts } = referringParts(this.resource, this.engine, column, args, access);
    return { text: this.#fill(name, parts), args, cost: 'query' };
  }
}

/** How a page that ends at `end` is found. */
function findingOf(list: ListRequest, end: number, engine: Engine): Finding {
  const { sorts, counts } = list;
  const { conditions, parent, search, words, access } = list.selection;
  const [term] = search;
  const isComposed =
    !counts ||
    sorts.length > 1 ||
    conditions.length > 0 ||
    access !== undefined ||
    search.length > 1 ||
    words !== undefined ||
    (term !== undefined && parent !== undefined);
  if (isComposed) return { name: composedPage(list, end, engine), values: [], cost: 'query' };
  if (parent !== undefined) return { name: 'page_of_parent', values: [parent], cost: 'short' };
  if (term !== undefined) {
    const name = hasTrigram(term) ? 'page_matching' : 'page_matching_short';
    return { name, values: [searchValue(term)], cost: 'search' };
  }
  if (end <= FIRST_ROWS) return { name: 'page_first', values: [], cost: 'short' };
  return sorts[0]!.field === 'created_at'
    ? { name: 'page_counted', values: [], cost: 'short' }
    : { name: 'page_deep', values: [], cost: 'search' };
}

/**
 * The statement of a page with conditions that ends at `end`. If a total has to find all matches, those of costly conditions are
 * found once. A shorter statement takes less time to plan.
 */
function composedPage({ selection, counts }: ListRequest, end: number, engine: Engine): Finding['name'] {
  if (!engine.correlates) return 'page_queried';
  const isCostly = selection.conditions.some(({ kind }) => kind !== 'comparison');
  if (isSearch(selection) || (counts && isCostly)) return 'page_matching';
  return isCostly || end > FIRST_ROWS ? 'page_found' : 'page_queried';
}
