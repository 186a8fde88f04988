import type { Resource } from '../../collection/resource.js';
import type { ScopedCollection } from '../../feature.js';
import { type Operator, operatorsOf } from '../../list/condition.js';
import { escapeName, filterSegment } from '../../list/query-names.js';
import { relatedOf } from '../../list/relations.js';

/** References that a title follows, one after the other. */
export const MAX_STEPS = 2;
/**
 * The fields of which the title of a record consists: the display field, or else the references that each record has, or the only
 * one. A title follows references to the titles of other records.
 */
export function titleFields({ display, schema, references }: Resource): readonly string[] {
  if (display !== undefined) return [display];
  const single = references.filter(({ isList }) => !isList).map(({ field }) => field);
  const needed = single.filter((field) => schema.required.includes(field));
  return needed.length > 0 || single.length > 1 ? needed : single;
}

/** The parameter of a list that shows the titles of its records alone. */
export const nameFields = (resource: Resource): Readonly<Record<string, string>> => ({
  fields: ['id', ...titleFields(resource).map(escapeName)].join(),
});

/** The names in a filter that lead to a text, and the operators of the text. */
export interface TextPath {
  readonly path: readonly string[];
  readonly operators: readonly Operator[];
}

/**
 * The path to the text of a field, for a reference to the first text of the title of what it refers to, among the collections that the
 * caller may read; undefined: no filter finds it.
 */
export function textPath(
  resource: Resource,
  field: string,
  known: readonly ScopedCollection[],
  steps = 0,
): TextPath | undefined {
  const relation = relatedOf(resource).find((each) => each.field === field);
  if (!relation) return { path: [filterSegment(field)], operators: operatorsOf(resource).get(field) ?? [] };
  const other = known.find((each) => each.resource.name === relation.collection)?.resource;
  const first = other && titleFields(other)[0];
  if (first === undefined || steps > MAX_STEPS) return undefined;
  const within = textPath(other!, first, known, steps + 1);
  const segments = [filterSegment(relation.name), ...(relation.isMany ? ['some'] : [])];
  return within && { ...within, path: [...segments, ...within.path] };
}
