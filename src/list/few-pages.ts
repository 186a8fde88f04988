import { MAX_PAGE_BYTES } from '../collection/document.js';
import { createBatcher } from '../db/batcher.js';
import { databaseErrorOf } from '../db/database-errors.js';
import type { Db, Row } from '../db/db.js';
import { padForImmediateWrite } from '../db/pool/postgres-patches.js';
import type { Sharing } from '../telemetry/metrics.js';
import type { Parameter } from './comparison-sql.js';
import { MAX_MATCHES } from './few-matches.js';
import { FrequentTexts } from './frequent-texts.js';
import type { NumberedPart } from './list-request.js';
import type { ReadPage } from './unchanged-pages.js';

/** The statement of a page of few matches, which reads other pages as well. */
export interface FewStatement {
  /** All that its text and `read` depend on. Pages of one key and equal values are one page. */
  readonly key: string;
  readonly text: () => string;
  /** The values of the page. */
  readonly args: readonly string[];
  /** The row of the page with the documents as the caller may read them; absent: the statement has read them so. */
  readonly read?: (row: Row) => Row;
}

/** The values of a page in a statement that reads several. */
export class PageValues {
  readonly args: string[] = [];
  readonly parameter: Parameter = (value, type = 'text') => `given.value_${this.args.push(value)}::${type}`;

  get parts() {
    return {
      given: this.args.map((_, at) => `$${at + 1}::text[]`).join(', '),
      columns: this.args.map((_, at) => `value_${at + 1}`).join(', '),
    };
  }
}

/** The rows of `match` that a numbered page has, in a statement for few matches. */
export const numberedRows = ({ page, limit }: NumberedPart, parameter: Parameter) => ({
  rows: `limit ${parameter(String(limit), 'bigint')} offset ${parameter(String((page - 1) * limit), 'bigint')}`,
});

/** The most pages in one statement. */
const MAX_PAGES = 16;
/** Pages in one statement, statements in flight, and pages that may wait, by their weights. */
const PAGES = {
  max: MAX_PAGES,
  inFlight: 2,
  waiting: 2000 * MAX_PAGES,
  keyOf: ({ key, args }: FewStatement) => `${key}\0${args.join('\0')}`,
};

/** The class of SQLSTATEs of values that the database cannot compute with. */
const DATA_EXCEPTION = '22';

const frequentTexts = new WeakMap<Db, FrequentTexts>();

/** The texts that the connections of a database prepare for all collections. */
function frequentOf(db: Db): FrequentTexts {
  const frequent = frequentTexts.get(db) ?? new FrequentTexts();
  frequentTexts.set(db, frequent);
  return frequent;
}

/**
 * Returns the function that reads a page of few matches of a collection by one of some statements. Pages that differ in their values
 * alone share a statement. Undefined: the statements are seldom or were no use, the matches are more, or the database cannot compute
 * with a value of one of the pages.
 */
export function openFewPages(
  db: Db,
  sharing: Sharing,
): (candidates: Iterable<FewStatement>, readPage: ReadPage) => Promise<Row | undefined> {
  const frequent = frequentOf(db);
  /** The texts of frequent statements, by their keys. */
  const texts = new Map<string, string>();
  const textOf = ({ key, text }: FewStatement): string => {
    const known = texts.get(key) ?? text();
    texts.set(key, known);
    return known;
  };
  /** The part of a statement's most matches and bytes that a page of the last statement had, times MAX_PAGES. */
  let weight = 1;
  const weigh = () => weight;
  const readEqual = async (pages: readonly FewStatement[]): Promise<readonly (Row | undefined)[]> => {
    try {
      const rows = await db.run(textOf(pages[0]!), argumentsOf(pages));
      const found: Row[] = [];
      let load = 0;
      for (const row of rows) {
        const at = Number(row.place) - 1;
        found[at] = pages[at]!.read?.(row) ?? row;
        load += Math.max(Number(row.most) / MAX_MATCHES, String(row.docs).length / MAX_PAGE_BYTES);
      }
      weight = Math.min(Math.max((load / rows.length) * MAX_PAGES, 1), MAX_PAGES);
      return found;
    } catch (error) {
      if (databaseErrorOf(error)?.code?.startsWith(DATA_EXCEPTION)) return [];
      throw error;
    }
  };
  const readAll = createBatcher<FewStatement, Row | undefined>(
    { ...PAGES, weigh, sharing },
    async (pages) => {
      const groups = new Map<string, FewStatement[]>();
      for (const page of pages) {
        const group = groups.get(page.key);
        if (group) group.push(page);
        else groups.set(page.key, [page]);
      }
      const equal = [...groups.values()];
      const settled = await Promise.allSettled(equal.map(readEqual));
      const outcomes = new Map<FewStatement, Row | undefined | Promise<undefined>>();
      for (const [number, result] of settled.entries())
        for (const [at, page] of equal[number]!.entries())
          outcomes.set(page, result.status === 'rejected' ? Promise.reject(result.reason) : result.value[at]);
      return pages.map((page) => outcomes.get(page));
    },
  );
  const frequentIn = (candidates: Iterable<FewStatement>): FewStatement | undefined => {
    for (const each of candidates) if (frequent.isUsed(each.key)) return each;
    return undefined;
  };
  return async (candidates, readPage) => {
    const statement = frequentIn(candidates);
    if (statement === undefined) return undefined;
    const row = await readPage(statement.key, statement.args, () => readAll(statement));
    const areFew = row !== undefined && Number(row.most) <= MAX_MATCHES;
    frequent.note(statement.key, areFew);
    return areFew ? row : undefined;
  };
}

/** The arguments of the statement of some pages: an array of PostgreSQL of each of their values. */
export function argumentsOf(pages: readonly FewStatement[]): string[] {
  const args = pages[0]!.args.map((_, at) => `{${pages.map((page) => quoted(page.args[at]!)).join(',')}}`);
  return args.with(-1, padForImmediateWrite(args.at(-1)!));
}

const quoted = (value: string): string => `"${value.replace(/["\\]/g, '\\$&')}"`;
