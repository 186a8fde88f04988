import type { Resource } from '../../collection/resource.js';
import type { ScopedCollection } from '../../feature.js';
import { type Operator, operatorsOf } from '../../list/condition.js';
import { escapeName, filterName, filterSegment } from '../../list/query-names.js';
import { relatedOf } from '../../list/relations.js';
import { columnsOf } from './columns.js';

/** References that a title follows, one after the other. */
export const MAX_STEPS = 2;
/** References of a title side by side. */
const MAX_PARTS = 2;

/**
 * The fields of which the title of a record consists: the display field, or else the references that each record has or the only
 * one, and beside a single one the first day. A title follows references to the titles of other records.
 */
export function titleFields(resource: Resource): readonly string[] {
  const { display, schema, references } = resource;
  if (display !== undefined) return [display];
  const single = references.filter(({ isList }) => !isList).map(({ field }) => field);
  const needed = single.filter((field) => schema.required.includes(field)).slice(0, MAX_PARTS);
  const followed = needed.length > 0 || single.length > 1 ? needed : single;
  if (followed.length !== 1) return followed;
  const day = columnsOf(resource).find(
    ({ name, kind }) => (kind === 'date' || kind === 'time') && name in schema.properties,
  );
  return day ? [...followed, day.name] : followed;
}

/** The parameter of a list that shows the titles of its records alone. */
export const nameFields = (resource: Resource): Readonly<Record<string, string>> => ({
  fields: ['id', ...titleFields(resource).map(escapeName)].join(),
});

/** The names in a filter that lead to a text. */
interface TextPath {
  readonly path: readonly string[];
  /** The operators of the text. */
  readonly operators: readonly Operator[];
}

/** The first text of the titles of a collection, among the collections that the caller may read; undefined: no filter finds it. */
export function titlePath(
  resource: Resource,
  known: readonly ScopedCollection[],
  steps = 0,
): TextPath | undefined {
  const [field] = titleFields(resource);
  if (field === undefined) return undefined;
  if (resource.references.some((each) => each.field === field))
    return steps < MAX_STEPS ? referencePath(resource, field, known, steps + 1) : undefined;
  return { path: [filterSegment(field)], operators: operatorsOf(resource).get(field) ?? [] };
}

/** The text by which people know the records to which a field refers. */
function referencePath(
  resource: Resource,
  field: string,
  known: readonly ScopedCollection[],
  steps = 0,
): TextPath | undefined {
  const relation = relatedOf(resource).find((each) => each.field === field);
  const other = known.find((each) => each.resource.name === relation?.collection)?.resource;
  const within = other && titlePath(other, known, steps);
  if (!relation || !within) return undefined;
  const name = filterSegment(relation.name);
  return { ...within, path: [name, ...(relation.isMany ? ['some'] : []), ...within.path] };
}

/** The condition that finds records by a part of the name of what a field refers to; undefined: there is none. */
export function nameCondition(
  resource: Resource,
  field: string,
  known: readonly ScopedCollection[],
): { readonly parameter: string; readonly operator: 'contains' | 'prefix' } | undefined {
  const { path = [], operators = [] } = referencePath(resource, field, known) ?? {};
  const operator = (['contains', 'prefix'] as const).find((each) => operators.includes(each));
  return operator && { parameter: filterName([...path, operator]), operator };
}
