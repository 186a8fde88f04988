import type { Resource } from '../collection/resource.js';
import { invalidQuery } from '../errors/input-errors.js';
import { writeOnlyNames } from '../validation/validation.js';
import { OWN_COLUMNS } from './condition.js';
import { listIn, stepsOf, unescapeName } from './query-names.js';
import { type Others, type Related, relatedOf, relationsOf } from './relations.js';

const MAX_FIELDS = 50;
/** The most relations of one view, those of related records counted as well. */
export const MAX_INCLUDES = 10;
/** The most relations that follow one another. */
const MAX_STEPS = 3;

/** The query parameters of one record. */
export const RECORD_PARAMETERS = ['fields', 'include'] as const;

/** The part of each record that a request asks for. */
export interface View {
  /** Undefined: all fields. */
  readonly fields: readonly string[] | undefined;
  /** The relations whose records are included. */
  readonly include: readonly Include[];
  /** Whether each record has excerpts of the fields in which words are found; absent: no. */
  readonly excerpts?: boolean;
}

/** A relation whose records a view includes. */
export interface Include {
  /** The name of the member of `_included`. */
  readonly name: string;
  readonly relation: Related;
  /** Whether the number of related records is included, and not the records. */
  readonly isCount: boolean;
  /** The part of each related record. */
  readonly view: View;
}

/** Records as they are stored. */
export const WHOLE: View = { fields: undefined, include: [] };

/** Whether records are shown as they are stored. */
export const isWhole = ({ fields, include, excerpts }: View): boolean =>
  fields === undefined && include.length === 0 && excerpts !== true;

/**
 * Reads `fields=title`, `include=project.team,comments.count` and `fields[project]=name`. Throws 400 for anything invalid, 403
 * for a relation to a collection that the caller may not read.
 */
export function readView(given: URLSearchParams, resource: Resource, others?: Others): View {
  // Most requests ask for whole records.
  const names = [...new Set(given.keys())];
  if (!names.some((name) => /^(include$|fields)/.test(name))) return WHOLE;
  const ofRelations = names.filter((name) => name.startsWith('fields['));
  const requested = { given, others, fields: new Set(ofRelations), includes: 0 };
  const paths = (listIn(given, 'include') ?? []).filter((path) => path !== '');
  const view = viewOf(
    requested,
    resource,
    paths.map((path) => relationsIn(path, resource)),
    [],
  );
  const [unused] = requested.fields;
  if (unused !== undefined) throw invalidQuery(unused, 'names no relation of `include`');
  return view;
}

/** The parameters of a request. */
interface Requested {
  readonly given: URLSearchParams;
  readonly others: Others | undefined;
  /** The parameters with the fields of related records that no view has yet. */
  readonly fields: Set<string>;
  /** The number of relations that the views have. */
  includes: number;
}

/** The names of relations that follow one another. */
type Path = readonly string[];

/** A relation may have a dot in its name. */
function relationsIn(path: string, resource: Resource): Path {
  const name = unescapeName(path);
  return relationsOf(resource).includes(name) ? [name] : stepsOf(path);
}

/** The view of the records to which the relations of `above` lead. */
function viewOf(requested: Requested, resource: Resource, paths: readonly Path[], above: Path): View {
  const isAbove = (name: string) =>
    unescapeName(/^fields\[(.+)\]$/s.exec(name)?.[1] ?? '') === above.join('.');
  const parameter = above.length === 0 ? 'fields' : [...requested.fields].find(isAbove);
  if (parameter !== undefined) requested.fields.delete(parameter);
  const names = [...new Set(paths.flatMap(([name]) => name ?? []))];
  return {
    fields: parameter === undefined ? undefined : readFields(requested.given, resource, parameter),
    include: names.flatMap((name) => {
      const below = paths.filter(([first]) => first === name).map(([, ...rest]) => rest);
      return includesOf(requested, resource, below, [...above, name]);
    }),
  };
}

/** The relation at the end of `path` with what follows it: the number of its records, relations of these, or nothing. */
function includesOf(requested: Requested, resource: Resource, below: readonly Path[], path: Path): Include[] {
  const { others } = requested;
  const name = path.at(-1)!;
  const relation = relatedOf(resource).find((each) => each.name === name);
  const known = relationsOf(resource).join(', ') || 'none';
  if (!relation || !others)
    throw invalidQuery('include', `names no relation of ${resource.name}, ${name}: there are ${known}`);
  if (path.length > MAX_STEPS) throw invalidQuery('include', `leads over more than ${MAX_STEPS} relations`);
  const other = others(relation.collection).resource;
  const isCountable = relation.field === undefined && !relationsOf(other).includes('count');
  const ofRecords = below.filter(([first, ...rest]) => !isCountable || first !== 'count' || rest.length > 0);
  const included: Include[] = [];
  if (ofRecords.length < below.length)
    included.push({ name: `${name}.count`, relation, isCount: true, view: WHOLE });
  if (ofRecords.length > 0)
    included.push({ name, relation, isCount: false, view: viewOf(requested, other, ofRecords, path) });
  requested.includes += included.length;
  if (requested.includes > MAX_INCLUDES) throw invalidQuery('include', `has more than ${MAX_INCLUDES} names`);
  return included;
}

/** Declared fields, unless others are permitted as well. */
function readFields(given: URLSearchParams, { schema }: Resource, parameter: string): string[] | undefined {
  const names = listIn(given, parameter)
    ?.map(unescapeName)
    .filter((name) => name !== '');
  if (names === undefined) return undefined;
  if (names.length > MAX_FIELDS) throw invalidQuery(parameter, `has more than ${MAX_FIELDS} fields`);
  const hidden = new Set(writeOnlyNames(schema));
  const valid = [
    ...OWN_COLUMNS.keys(),
    ...Object.keys(schema.properties).filter((name) => !hidden.has(name)),
  ];
  const unknown = names.find((name) => !valid.includes(name));
  if (unknown !== undefined && (schema.additionalProperties === false || hidden.has(unknown)))
    throw invalidQuery(parameter, `names an unknown field, ${unknown}: there are ${valid.join(', ')}`);
  return names;
}
