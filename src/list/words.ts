import { type Resource, searchedTexts, wordsSql } from '../collection/resource.js';

/** The words that a search asks for. */
export interface Words {
  /** The words as `to_tsquery` of PostgreSQL reads them; empty: there are none, so that no record has them. */
  readonly query: string;
  /** Whether the records are ordered by their relevance. */
  readonly isRanked: boolean;
}

/** Punctuation that is a space in the index: `plinth_words` in sql/migrations/ has the same characters. */
export const SEPARATORS = '&+-./:<@_~';

/** The characters that separate words: beyond ASCII punctuation, symbols and spaces (of the further planes only pictures), as in `plinth_separated` in sql/migrations/. */
const SEPARATOR = /(?:[&+\-./:<@_~\s\0\u200b\ufeff]|(?=[\x80-\uffff\u{1f000}-\u{1fbff}])[\p{P}\p{S}\p{Z}])+/u;

/** A word, or words that follow one another. */
interface Term {
  readonly words: readonly string[];
  /** Whether the last word may go on. */
  readonly isPrefix: boolean;
  readonly isExcluded: boolean;
}

/** Reads `lamp "made in italy" desk* -red`. Any text is valid: what is no word is left out. */
function termsIn(text: string): Term[] {
  return [...text.matchAll(/(-?)(?:"([^"]*)"?|([^\s"]+))/gu)].flatMap(([, minus, phrase, word]) => {
    const words = (phrase ?? word!).split(SEPARATOR).filter((each) => /[^!-/:-@[-`{-~]/u.test(each));
    const isPrefix = word?.endsWith('*') ?? false;
    return words.length === 0 ? [] : [{ words, isPrefix, isExcluded: minus === '-' }];
  });
}

/** Words as `to_tsquery` reads them, whatever they contain. */
const operandsOf = ({ words, isPrefix }: Term): string[] =>
  words.map(
    (word, at) => `'${word.replace(/['\\]/g, '$&$&')}'${isPrefix && at === words.length - 1 ? ':*' : ''}`,
  );

const termSql = (term: Term): string => `${term.isExcluded ? '!' : ''}(${operandsOf(term).join(' <-> ')})`;

/** The words of a search; undefined: the collection has none, or nothing is searched for. */
export function wordsOf(resource: Resource, search: string, isRanked: boolean): Words | undefined {
  const texts = searchedTexts(resource, resource.words, search);
  if (texts.length === 0) return undefined;
  const queries = texts.map((text) => termsIn(text).map(termSql).join(' & ')).filter((each) => each !== '');
  return { query: [...new Set(queries.map((each) => `(${each})`))].join(' | '), isRanked };
}

/** The words of a search that records have in excerpts, as `to_tsquery` reads any one of them, and as a text. */
export function markedWords(
  resource: Resource,
  search: string,
): { readonly query: string; readonly text: string } | undefined {
  const terms = searchedTexts(resource, resource.words, search).flatMap(termsIn);
  const found = terms.filter(({ isExcluded }) => !isExcluded);
  if (found.length === 0) return undefined;
  const text = found.flatMap(({ words }) => words).join(' ');
  return { query: [...new Set(found.flatMap(operandsOf))].join(' | '), text };
}

/** The language of a collection's words in statements. */
export const languageSql = ({ language }: Resource): string => `'pg_catalog.${language}'`;

/** SQL of the words of a search. `query` is the expression of their text. */
export const querySql = (resource: Resource, query: string): string =>
  `to_tsquery(${languageSql(resource)}, ${query})`;

/** SQL that is true for records that have the words of a search. */
export const hasWords = (resource: Resource, query: string): string =>
  `${wordsSql(resource, 'record.')} @@ ${query}`;

/** SQL of the relevance of a record for the words of a search. A long text is not more relevant for its length. */
export const rankSql = (resource: Resource, query: string): string =>
  `ts_rank(${wordsSql(resource, 'record.')}, ${query}, 1)::double precision`;
