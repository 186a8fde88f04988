import type { Resource } from '../collection/resource.js';
import { invalidQuery } from '../errors/input-errors.js';
import { writeOnlyNames } from '../validation/validation.js';
import { listIn, stepsOf, unescapeName } from './query-names.js';
import { type Others, type Related, relatedOf } from './relations.js';

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
  const included = (listIn(given, 'include') ?? []).filter((path) => path !== '');
  const paths = [...new Set(included)];
  const nested = names
    .filter((name) => name.startsWith('fields['))
    .map((name) => ({
      parameter: name,
      names: listIn(given, name)!,
      path: unescapeName(/^fields\[(.+)\]$/s.exec(name)?.[1] ?? ''),
    }));
  if (paths.length > MAX_INCLUDES) throw invalidQuery('include', `has more than ${MAX_INCLUDES} names`);
  const used = new Set<Fields>();
  const view = new ViewReader(others, (path) => {
    const found = nested.find((each) => each.path === path);
    return found && used.add(found) && found;
  }).read(resource, paths.map(relationsOf(resource)), [], listIn(given, 'fields'));
  const unused = nested.find((each) => !used.has(each));
  if (unused !== undefined) throw invalidQuery(unused.parameter, 'names no relation of `include`');
  return view;
}

/** The names of a path. A relation may have a dot in its name. */
const relationsOf =
  (resource: Resource) =>
  (path: string): readonly string[] =>
    relatedOf(resource).some(({ name }) => name === unescapeName(path))
      ? [unescapeName(path)]
      : stepsOf(path);

type Fields = { readonly parameter: string; readonly names: readonly string[] } | undefined;

class ViewReader {
  #includes = 0;

  constructor(
    readonly others: Others | undefined,
    /** The fields that a request names for the records of a path. */
    readonly fieldsOf: (path: string) => Fields,
  ) {}

  /** `paths` begin at `resource`, whose own path is `above`. */
  read(
    resource: Resource,
    paths: readonly (readonly string[])[],
    above: readonly string[],
    fields: readonly string[] | undefined,
    parameter = 'fields',
  ): View {
    const first = new Set(paths.map(([segment]) => segment!));
    return {
      fields: readFields(fields, resource, parameter),
      include: [...first].flatMap((segment) =>
        this.#include(
          resource,
          segment,
          paths.filter((path) => path[0] === segment).map((path) => path.slice(1)),
          above,
        ),
      ),
    };
  }

  /** A relation with what follows it in the paths: the number of its records, or relations of these. */
  #include(
    resource: Resource,
    name: string,
    rests: readonly (readonly string[])[],
    above: readonly string[],
  ): Include[] {
    const relation = relatedOf(resource).find((each) => each.name === name);
    if (!relation || !this.others) throw unknownRelation(name, resource);
    if (above.length === MAX_STEPS)
      throw invalidQuery('include', `leads over more than ${MAX_STEPS} relations`);
    const other = this.others(relation.collection).resource;
    const isCount = (rest: readonly string[]) =>
      rest.length === 1 &&
      rest[0] === 'count' &&
      relation.field === undefined &&
      !relatedOf(other).some((each) => each.name === 'count');
    const included: Include[] = [];
    if (rests.some(isCount)) included.push({ name: `${name}.count`, relation, isCount: true, view: WHOLE });
    const others = rests.filter((rest) => !isCount(rest));
    if (others.length > 0) {
      const path = [...above, name];
      const fields = this.fieldsOf(path.join('.'));
      const below = others.filter((rest) => rest.length > 0);
      const view = this.read(other, below, path, fields?.names, fields?.parameter);
      included.push({ name, relation, isCount: false, view });
    }
    this.#includes += included.length;
    if (this.#includes > MAX_INCLUDES) throw invalidQuery('include', `has more than ${MAX_INCLUDES} names`);
    return included;
  }
}

function unknownRelation(name: string, resource: Resource) {
  const valid = relatedOf(resource).map((each) => each.name);
  return invalidQuery(
    'include',
    `names no relation of ${resource.name}, ${name}: there are ${valid.length === 0 ? 'none' : valid.join(', ')}`,
  );
}

const OWN_FIELDS = ['id', 'created_at', 'updated_at', '_version'];

/** Declared fields, unless others are permitted as well. */
function readFields(
  given: readonly string[] | undefined,
  { schema }: Resource,
  parameter: string,
): string[] | undefined {
  if (given === undefined) return undefined;
  const names = given.map(unescapeName).filter((name) => name !== '');
  if (names.length > MAX_FIELDS) throw invalidQuery(parameter, `has more than ${MAX_FIELDS} fields`);
  const hidden = new Set(writeOnlyNames(schema));
  const valid = [...OWN_FIELDS, ...Object.keys(schema.properties).filter((name) => !hidden.has(name))];
  const unknown = names.find((name) => !valid.includes(name));
  if (unknown !== undefined && (schema.additionalProperties === false || hidden.has(unknown)))
    throw invalidQuery(parameter, `names an unknown field, ${unknown}: there are ${valid.join(', ')}`);
  return names;
}
