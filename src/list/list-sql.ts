import { MAX_PAGE_BYTES } from '../collection/document.js';
import { parentColumn, type Resource, searchSql } from '../collection/resource.js';
import type { Engine } from '../database-url/engine.js';
import type { Value } from '../db/db.js';
import { fill, statementsOn } from '../db/statements.js';
import { invalidQuery } from '../errors/input-errors.js';
import { nameStatement } from '../telemetry/wait-tracking.js';
import { callersArgs, callersParts, isOfCaller } from './callers-pages.js';
import { hasTrigram, type Parameter, parametersIn, searchPattern } from './comparison-sql.js';
import {
  type Access,
  EVERYTHING,
  type ExpressedSelection,
  hasTerms,
  isRestricted,
  isSearch,
} from './condition.js';
import { accessibleSql, recordsSql, totalSql } from './condition-sql.js';
import type { Position } from './keyset.js';
import {
  type KeysetPart,
  type ListRequest,
  MAX_LARGE_RECORDS,
  MAX_LIMIT,
  type PageRequest,
  type SliceRequest,
} from './list-request.js';
import { isInParts, joinedSql, outerOrder, rowsSql } from './ordered-rows.js';
import { cursorPage, documentsOf, orderParts, rankedParts, TOO_LARGE } from './page-sql.js';
import type { SortKey } from './read-sort.js';
import { pairsSql, referringSql } from './record-source.js';

/** A page that ends before this row is read from the beginning: what precedes it is cheaper to skip than to look up. */
const FIRST_ROWS = 500;
const FIRST = 'page_first';
/** Statements that only Citus has, and those in their place. */
const OTHERS: Readonly<Record<string, string>> = {
  page_of_parent: 'page_found',
  page_matching_short: 'page_matching',
};

/**
 * `short`: one of few texts, whose cost depends on the page alone. `search`: one of few texts, whose cost grows with the records that
 * it finds or skips. `callers`: a text that callers share, which has arrays of the values. `query`: a text of its own for each
 * combination of conditions.
 */
type Cost = 'short' | 'search' | 'callers' | 'query';

/** A statement with its parameters. Names in it come from the declaration, values are parameters. */
export interface ListStatement {
  readonly text: string;
  readonly args: readonly Value[];
  readonly cost: Cost;
}

/** The most texts of one collection that callers may add to: each shape of their access and each order has its own. */
const MAX_TEXTS = 200;

/** Makes the statements of the lists of one collection. */
export class ListStatements {
  readonly #templates: ReadonlyMap<string, string>;
  /** The texts that pages repeat, by their names, orders and shapes of access: to compose one takes a fifth of the time of a request. */
  readonly #texts = new Map<string, string>();

  constructor(
    readonly resource: Resource,
    readonly engine: Engine,
  ) {
    this.#templates = statementsOn(engine, 'collection/list.sql');
  }

  /**
   * Reads a page: for a numbered one its `total` and `docs`, for one between cursors the columns that `cursorPage` names. `isShared`:
   * callers may share the statement.
   */
  page(list: PageRequest, isShared = false): ListStatement {
    this.#requireOrder(list);
    const { part, selection } = list;
    if (part.kind === 'keyset') return this.#between(list, part);
    const offset = Math.min((part.page - 1) * part.limit, Number.MAX_SAFE_INTEGER);
    const args: Value[] = [part.limit, offset];
    const [{ field, direction }] = list.sorts as readonly [SortKey];
    const order = `${direction} ${field}`;
    const ofShape = `${selection.access?.shape} ${order}`;
    const isBounded = this.#texts.has(ofShape) || this.#texts.size < MAX_TEXTS;
    if (isShared && isBounded && isOfCaller(list, this.engine)) {
      const parts = () => callersParts(this.resource, list);
      const text = this.#known(ofShape, () => this.#fill('page_of_callers', parts()));
      return { text, args: callersArgs(part, selection.access!), cost: 'callers' };
    }
    const { name, cost } = findingOf(list, offset + part.limit, this.engine);
    if (cost === 'query') return { text: this.#page(name, list, args), args, cost };
    const text = this.#known(`${name} ${order}`, () => this.#page(name, list, [...args]));
    return { text, args: [...args, ...valuesOf(selection)], cost };
  }

  #known(key: string, compose: () => string): string {
    const text = this.#texts.get(key) ?? compose();
    this.#texts.set(key, text);
    return text;
  }

  /** Citus joins no tables by other columns than those that distribute them. Throws 400. */
  #requireOrder({ sorts }: ListRequest): void {
    if (!this.engine.correlates && sorts.some(({ related }) => related))
      throw invalidQuery('sort', 'names a member of a related record, which is not possible on Citus');
  }

  /**
   * Reads a numbered page: from its first rows on, or by a statement that finds the ids of a page before it reads their records.
   * `first`: the rows end within FIRST_ROWS, which the planner needs as a constant.
   */
  #page(name: string, list: ListRequest, args: Value[]): string {
    const { selection, counts, keyset } = list;
    const parameter = parametersIn(args);
    const template = this.#templates.has(name) ? name : OTHERS[name];
    if (template === undefined) {
      const [limit, offset] = args as [number, number];
      const end = name === FIRST ? String(FIRST_ROWS) : parameter(String(offset + limit), 'bigint');
      const { total, rows } = this.#scan(list, undefined, end, parameter);
      return `select (${total}) as total${counts ? '' : ', count(*) as rows'}, ${documentsOf(outerOrder(keyset, 'record.'))} as docs
from (${rows} limit $1::bigint offset $2::bigint) as record`;
    }
    const source = accessibleSql(this.resource, 'record', selection.access, parameter, this.engine);
    return this.#fill(template, {
      ...this.#records(list, parameter),
      number_in_page: counts ? '' : ', (select count(*) from page) as rows',
      source,
      ...orderParts(keyset),
      ...(selection.words?.isRanked ? rankedParts(source) : {}),
    });
  }

  /** Reads a page from its cursor on. It skips no records, so that its cost does not depend on its place in the list. */
  #between(list: ListRequest, { position, limit }: KeysetPart): ListStatement {
    const { keyset, selection } = list;
    const args: Value[] = [];
    const parameter = parametersIn(args);
    const size = parameter(String(limit), 'bigint');
    // The limit is a constant: for one that it does not know, the planner would assume a tenth of the table.
    const { total, rows } = this.#scan(list, position, String(MAX_LIMIT + 1), parameter);
    const page = cursorPage(`(${rows} limit ${size} + 1) as record`, keyset, position, size);
    const isPlain = keyset.keys.length === 0 && !isRestricted(selection);
    const text = `select (${total}) as total, page.* from (${page}) as page`;
    return { text, args, cost: isPlain ? 'short' : 'query' };
  }

  /** The first records of a list on one side of a position, in their order, and SQL of the number of all. */
  #scan(list: ListRequest, position: Position | undefined, limit: string, parameter: Parameter) {
    const { records, total } = this.#records(list, parameter);
    const { keyset, selection } = list;
    const scan = { keyset, records, isRestricted: hasTerms(selection), position, limit };
    return { total, rows: rowsSql(scan, parameter) };
  }

  /** The records of a list as a source, and SQL of their number if the list counts them. */
  #records({ selection, counts }: ListRequest, parameter: Parameter) {
    const records = recordsSql(this.resource, selection, parameter, this.engine);
    return {
      records,
      total: counts ? totalSql(this.resource, selection, records) : 'select null::bigint as total',
    };
  }

  #fill(name: string, parts: Readonly<Record<string, string>> & { readonly source?: string }): string {
    const { resource } = this;
    const { source = '' } = parts;
    return fill(this.#templates.get(name)!, {
      table: resource.table,
      name: resource.name,
      parent: parentColumn(resource),
      search: resource.searchable.length === 0 ? '' : searchSql(resource),
      // limit 1: the planner would expect many rows and choose another plan.
      record: `(select * from ${source} where record.id = page.id limit 1)`,
      rank: '',
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
    const { selection, sorts, keyset } = list;
    const settings: Record<string, string> = {};
    const parameter: Parameter = (value, type = 'text') => {
      const place = Object.keys(settings).length + 1;
      settings[`plinth.value_${place}`] = value;
      return this.engine.correlates
        ? `current_setting('plinth.value_${place}')::${type}`
        : `($1)[${place}]::${type}`;
    };
    this.#requireOrder(list);
    const records = recordsSql(this.resource, selection, parameter, this.engine);
    const isRelated = sorts.some(({ related }) => related);
    const isMatching = !isRelated && isSearch(selection) && this.engine.correlates;
    const name = isMatching ? 'stream_matching' : 'stream';
    const { resource, engine } = this;
    const source = isMatching ? accessibleSql(resource, 'record', selection.access, parameter, engine) : '';
    const values = Object.keys(settings).map((each) => `current_setting('${each}')`);
    const text = this.#fill(name, {
      source,
      records: joinedSql(records, keyset),
      settings: values.length === 0 ? 'null' : `array[${values.join(', ')}]::text[]`,
      ...orderParts(keyset),
    });
    if (findingOf({ ...list, counts: true }, 0, engine).cost !== 'query')
      nameStatement(text, `${name} ${resource.name}`);
    return { text, settings };
  }

  /** Reads the records of a slice: its `total` and `docs`. */
  slice({ selection, order, start, end }: SliceRequest): ListStatement {
    const args: Value[] = [];
    const parameter = parametersIn(args);
    const bound = (place: number) => {
      const value = parameter(String(place), 'bigint');
      return place < 0 ? `greatest((select total from total) + ${value}, 0)` : value;
    };
    const text = this.#fill('page_slice', {
      records: recordsSql(this.resource, selection, parameter, this.engine),
      source: accessibleSql(this.resource, 'record', selection.access, parameter, this.engine),
      order: [...order.map((key) => key('record', parameter)), 'record.id'].join(', '),
      start: bound(start),
      rows: end === undefined ? 'null' : `greatest(${bound(end)} - ${bound(start)}, 0)`,
      documents: documentsOf('page.place', {
        id: `case when page.place <= ${MAX_LARGE_RECORDS + 1} then record.id::text end`,
        maxBytes: MAX_PAGE_BYTES,
      }),
    });
    return { text, args, cost: 'query' };
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
    const { resource, engine } = this;
    const add = parametersIn(args);
    // On Citus one query for each id, about values of which the first is the id: no table is joined by another column than its own.
    const isApart = !engine.correlates && access !== undefined;
    const values = ['given.id::text'];
    const parameter: Parameter = (value, type = 'text') =>
      isApart ? `($1)[${values.push(add(value))}]::${type}` : add(value, type);
    const all = recordsSql(resource, { ...EVERYTHING, access }, parameter, engine);
    const text = isApart
      ? this.#fill('referring_readable', {
          records: `${all} where record.${column} = ($1)[1]::uuid`,
          values: `array[${values.join(', ')}]`,
        })
      : this.#fill('referring', {
          records: referringSql(resource, column, all),
          source: accessibleSql(resource, 'record', access, parameter, engine),
          column,
        });
    return { text, args, cost: 'query' };
  }
}

/** The values that a text of #texts has after the bounds of the page. */
const valuesOf = ({ parent, search: [term] }: ExpressedSelection): readonly Value[] =>
  parent !== undefined ? [parent] : term !== undefined ? [searchPattern(term)] : [];

/**
 * How a page that ends at `end` is found: by a statement of a name, or without one from the first row on. One with conditions has a text of its own, which takes less time to plan if it is short. If
 * its total has to find all matches, the matches of a search or of costly conditions are found once.
 */
function findingOf(
  { sorts, counts, keyset, selection }: ListRequest,
  end: number,
  engine: Engine,
): { readonly name: string; readonly cost: Cost } {
  const { conditions, parent, search, words, access } = selection;
  const [term, ...more] = search;
  if (isInParts(keyset)) return { name: 'page_queried', cost: 'query' };
  const isPlain = counts && sorts.length === 1 && conditions.length + more.length === 0 && !access && !words;
  if (isPlain && term === undefined) {
    if (parent !== undefined) return { name: 'page_of_parent', cost: 'short' };
    if (end <= FIRST_ROWS) return { name: FIRST, cost: 'short' };
    const isCreation = sorts[0]!.field === 'created_at';
    return isCreation ? { name: 'page_counted', cost: 'short' } : { name: 'page_found', cost: 'search' };
  }
  if (isPlain && parent === undefined)
    return { name: hasTrigram(term!) ? 'page_matching' : 'page_matching_short', cost: 'search' };
  const isCostly = conditions.some(({ kind }) => kind !== 'comparison');
  const name =
    isSearch(selection) || (counts && isCostly)
      ? 'page_matching'
      : isCostly || end > FIRST_ROWS
        ? 'page_found'
        : 'page_queried';
  return { name: engine.correlates ? name : 'page_queried', cost: 'query' };
}
