import { type Resource, searchSql } from '../collection/resource.js';

/** Whether the index of trigrams finds a text: trigrams need three letters or digits in a row. */
export const hasTrigram = (term: string): boolean => /[\p{L}\p{N}]{3}/u.test(term);

/** The value with which the SQL of a search compares. */
export const searchValue = (term: string): string => (hasTrigram(term) ? `%${escaped(term)}%` : term);

/**
 * A term without a trigram is looked up by its first one or two characters. It is compared by strpos, since `like` would
 * make the planner read all of the index of trigrams too.
 */
export function searchTerm(resource: Resource, term: string, parameter: (value: string) => string): string {
  const text = searchSql(resource);
  const value = `lower(${parameter(searchValue(term))})`;
  if (hasTrigram(term)) return `${text} like ${value}`;
  return `(grams(${text}) @> array[left(${value}, 2)] and strpos(${text}, ${value}) > 0)`;
}

/** A text within a pattern of `like`. */
export const escaped = (text: string) => text.replace(/[\\%_]/g, '\\$&');
