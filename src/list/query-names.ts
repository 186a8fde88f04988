import type { Resource } from '../collection/resource.js';
import { invalidBody, invalidQuery } from '../errors/input-errors.js';
import type { FilterPlace, FilterTree, Given, QueryValues, Value } from '../http/query-values.js';
import { escapeToken, isObject, type Json } from '../json.js';
import { LIST_OPERATORS, MAX_VALUES } from './condition.js';
import { directed } from './read-sort.js';

/**
 * Names of fields in the query of an address. A backslash precedes each of their characters that would be syntax: brackets,
 * commas, backslashes, and a minus at the beginning.
 */
export const escapeName = (name: string): string => name.replace(/[\\[\],]/g, '\\$&').replace(/^-/, '\\-');

export const unescapeName = (text: string): string => text.replace(/\\(.)/gs, '$1');

/** A name in a list: of an address or a text with its escapes, of a list in JSON as it is. */
export interface Name {
  readonly text: string;
  readonly isEscaped: boolean;
}

export const nameOf = ({ text, isEscaped }: Name): string => (isEscaped ? unescapeName(text) : text);

/** The names of a path, which dots separate. */
export const stepsOf = ({ text, isEscaped }: Name): readonly string[] =>
  isEscaped ? splitAt('.', text).map(unescapeName) : text.split('.');

/** The names in a value of a parameter that is a list. */
export const namesOf = (given: Given): Name[] =>
  typeof given === 'object'
    ? given.map((text) => ({ text, isEscaped: false }))
    : splitAt(',', String(given)).map((text) => ({ text, isEscaped: true }));

/** The names in a parameter that is a list, or repeated, as many clients write it. Undefined: the parameter is absent. */
export function listIn(given: QueryValues, name: string): readonly Name[] | undefined {
  const values = given.all(name);
  return values.length === 0 ? undefined : values.flatMap(namesOf);
}

/** The first value of a parameter as a text; null: the parameter is absent. */
export function textIn(given: QueryValues, name: string): string | null {
  const [value] = given.all(name);
  return value === undefined ? null : String(value);
}

/** An integer from 1 to a maximum, of which a text has at most as many digits; undefined: another value. */
export function integerOf(given: Given, max: number): number | undefined {
  const isText = typeof given === 'string' && /^\d+$/.test(given) && given.length <= String(max).length;
  const number = isText ? Number(given) : given;
  return typeof number === 'number' && Number.isInteger(number) && number >= 1 && number <= max
    ? number
    : undefined;
}

/** The names between separators without a backslash before them, escaped as they are there. */
function splitAt(separator: ',' | '.', text: string): string[] {
  const names: string[] = [];
  let start = 0;
  for (let at = 0; at <= text.length; at++) {
    if (text[at] === '\\') at++;
    else if (at === text.length || text[at] === separator) {
      names.push(text.slice(start, at));
      start = at + 1;
    }
  }
  // A backslash at the end escapes nothing.
  return start <= text.length ? [...names, text.slice(start)] : names;
}

/** Names in a filter that combine conditions. A backslash precedes one of them that is the name of a field. */
export const COMBINATIONS: ReadonlySet<string> = new Set(['and', 'or', 'not']);

/** A name in the brackets of a filter. */
export const filterSegment = (name: string): string =>
  COMBINATIONS.has(name) ? `\\${name}` : escapeName(name);

/** The parameter of names in brackets, which are escaped as filterSegment does. */
export const filterName = (segments: readonly string[]): string =>
  `filter${segments.map((segment) => `[${segment}]`).join('')}`;

/** The parameter of a condition: `filter[price][gte]`. */
export const conditionName = (field: string, operator = 'eq'): string =>
  filterName([filterSegment(field), ...(operator === 'eq' ? [] : [operator])]);

/** The most names in the brackets of one parameter. */
export const MAX_NESTING = 24;

/** The names in brackets of a parameter, escaped as they are there. Undefined: the parameter has another form. */
export function filterSegments(name: string): readonly string[] | undefined {
  const rest = name.slice('filter'.length);
  const segments = [...rest.matchAll(/\[((?:\\.|[^\\\]])*)\]/gsy)].map(([, segment]) => segment!);
  const length = segments.reduce((sum, segment) => sum + segment.length + 2, 0);
  return segments.length > 0 && length === rest.length && segments.length <= MAX_NESTING
    ? segments
    : undefined;
}

const MAX_CONDITIONS = 50;

/** A condition as a query names it. */
export interface NamedCondition {
  readonly name: string;
  /** Undefined: the name has another form. */
  readonly segments: readonly string[] | undefined;
  readonly values: readonly Value[];
  readonly isList: boolean;
}

/** The conditions of a query as a tree. Throws 400 for too many, and for a name that has another form. */
export function filterTree(conditions: readonly NamedCondition[]): FilterTree {
  interface Growing extends FilterPlace {
    values: readonly Value[];
    isList: boolean;
    readonly members: Map<string, Growing>;
  }
  if (conditions.length > MAX_CONDITIONS)
    throw invalidQuery('filter', `has more than ${MAX_CONDITIONS} conditions`);
  const root = new Map<string, Growing>();
  for (const { name, segments, values, isList } of conditions) {
    if (!segments)
      throw invalidQuery(
        name,
        `must be like filter[field] or filter[field][operator], with at most ${MAX_NESTING} names in brackets`,
      );
    let members = root;
    for (const [at, segment] of segments.entries()) {
      const place = filterName(segments.slice(0, at + 1));
      const node = members.get(segment) ?? { name: place, values: [], isList: false, members: new Map() };
      members.set(segment, node);
      if (at === segments.length - 1) Object.assign(node, { values, isList });
      members = node.members;
    }
  }
  return root;
}

/** The parameters in the query of an address. */
export function valuesOfAddress(query: string | URLSearchParams): QueryValues {
  const given = typeof query === 'string' ? new URLSearchParams(query) : query;
  const names = [...new Set(given.keys())];
  return {
    isBody: false,
    names,
    all: (name) => given.getAll(name),
    filter: () => filterIn(given, names),
    address: () => given,
  };
}

function filterIn(given: URLSearchParams, names: readonly string[]): FilterTree {
  return filterTree(
    names.filter(isCondition).map((name) => {
      const values = given.getAll(name);
      return { name, segments: filterSegments(name), values, isList: values.length > 1 };
    }),
  );
}

/** Whether a parameter is a condition, in whatever form. */
export const isCondition = (name: string): boolean => /^filter(\[|$)/.test(name);

/** Max bytes of a query in a body, and characters of one text of a filter, which are part of an address as well. */
export const MAX_QUERY = 65_536;

/** Members whose lists consist of names. */
const NAMES: readonly string[] = ['sort', 'include', 'group', 'aggregate'];

/**
 * The parameters in JSON: {"filter": {"price": {"gte": 10}}, "fields": ["title", {"project.team": ["name"]}], "sort": ["-price"]}.
 * Throws 400.
 */
export function valuesOfBody(value: Json | undefined, resource: Resource): QueryValues {
  if (!isObject(value)) throw invalidBody('must be an object', 'type');
  const values = new BodyValues(resource);
  for (const [name, given] of Object.entries(value)) {
    const path = `/${escapeToken(name)}`;
    if (name === 'filter') values.addFilter(given);
    else if (name === 'fields' && Array.isArray(given)) values.addFields(given);
    else if (isCondition(name))
      values.addCondition(name, filterSegments(name), [scalarOf(given, path)], false);
    else if (!Array.isArray(given) || !NAMES.includes(name)) values.add(name, scalarOf(given, path));
    // Without a key, the order is the default.
    else if (name !== 'sort' || given.length > 0) values.add(name, textsOf(given, path));
  }
  return values;
}

/** The conditions of a filter in JSON. Throws 400. */
export function filterOfBody(filter: Json, resource: Resource): FilterTree {
  const values = new BodyValues(resource);
  values.addFilter(filter);
  return values.filter();
}

class BodyValues implements QueryValues {
  readonly isBody = true;
  readonly #values = new Map<string, readonly Given[]>();
  readonly #conditions = new Map<string, NamedCondition>();

  constructor(readonly resource: Resource) {}

  get names(): readonly string[] {
    return [...this.#values.keys()];
  }

  all(name: string): readonly Given[] {
    return this.#values.get(name) ?? [];
  }

  filter(): FilterTree {
    return filterTree([...this.#conditions.values()]);
  }

  address(): URLSearchParams {
    return new URLSearchParams([...this.#values.keys()].flatMap((name) => this.#parametersOf(name)));
  }

  #parametersOf(name: string): [string, string][] {
    const escaped = name === 'sort' ? (key: string) => keyText(key, this.resource) : escapeName;
    const texts = this.all(name).map((given) =>
      typeof given === 'object' ? given.map(escaped).join(',') : String(given),
    );
    // One value alone would be split at its commas.
    const isSplit = this.#conditions.get(name)?.isList && texts.length === 1 && texts[0]!.includes(',');
    return [...texts, ...(isSplit ? texts : [])].map((text) => [name, text]);
  }

  add(name: string, given: Given): void {
    this.#values.set(name, [...this.all(name), given]);
  }

  addCondition(
    name: string,
    segments: readonly string[] | undefined,
    values: readonly Value[],
    isList: boolean,
  ): void {
    const present = this.#conditions.get(name)?.values ?? [];
    const all = [...present, ...values];
    this.#values.set(name, all);
    this.#conditions.set(name, { name, segments, values: all, isList: isList || present.length > 0 });
  }

  /** Throws 400. */
  addFields(given: readonly Json[]): void {
    const own = given.filter((each) => !isObject(each));
    const related = given.filter(isObject).flatMap((each) => Object.entries(each));
    if (own.length > 0 || related.length === 0) this.add('fields', textsOf(own, '/fields'));
    for (const [path, names] of related) {
      const pointer = `/fields/${escapeToken(path)}`;
      if (!Array.isArray(names)) throw invalidBody('must be a list of fields', 'type', pointer);
      this.add(`fields[${escapeName(path)}]`, textsOf(names, pointer));
    }
  }

  /** Throws 400. */
  addFilter(filter: Json): void {
    if (!isObject(filter)) throw invalidBody('must be an object', 'type', '/filter');
    for (const [name, given] of Object.entries(filter))
      this.#addPlace([bodySegment(name)], given, `/filter/${escapeToken(name)}`);
  }

  /** Adds what is at a place of a filter: a value, a list of values, numbered alternatives, or more places. */
  #addPlace(segments: readonly string[], given: Json, pointer: string): void {
    if (segments.length > MAX_NESTING)
      throw invalidBody(`must have at most ${MAX_NESTING} names within one another`, 'maxItems', pointer);
    const last = segments.at(-1)!;
    const place = segments.length === 2 && last === 'eq' ? segments.slice(0, 1) : segments;
    const name = filterName(place);
    if (given === null || typeof given !== 'object')
      return this.addCondition(name, place, [scalarOf(given, pointer)], false);
    if (Array.isArray(given) && !(last === 'and' || last === 'or'))
      return this.addCondition(name, place, listOf(name, last, given, pointer), true);
    const members = isObject(given) ? Object.entries(given) : [...given.entries()];
    if (members.length === 0) {
      if (last !== 'some' && last !== 'none')
        throw invalidBody('must have a condition, or an operator, as in {"eq": 1}', 'minProperties', pointer);
      return this.addCondition(name, place, [true], false);
    }
    for (const [key, member] of members)
      this.#addPlace(
        [...segments, typeof key === 'number' ? String(key) : bodySegment(key)],
        member as Json,
        `${pointer}/${escapeToken(String(key))}`,
      );
  }
}

/** A name of a body in brackets: `or` combines conditions, and `\or` is a field. */
const bodySegment = (name: string): string =>
  COMBINATIONS.has(name) || COMBINATIONS.has(name.replace(/^\\/, '')) ? name : escapeName(name);

/** A key of an order as an address has it. */
function keyText(text: string, resource: Resource): string {
  const { field, isDescending } = directed({ text, isEscaped: false }, resource);
  return `${isDescending ? '-' : ''}${escapeName(field)}`;
}

function listOf(name: string, operator: string, operand: readonly Json[], pointer: string): Value[] {
  if (!LIST_OPERATORS.has(operator)) throw noValue(pointer);
  if (operand.length === 0) throw invalidBody('must have at least one value', 'minItems', pointer);
  if (operand.length > MAX_VALUES) throw invalidQuery(name, `has more than ${MAX_VALUES} values`);
  return operand.map((each) => scalarOf(each, pointer));
}

/** Names as texts. */
const textsOf = (given: readonly Json[], pointer: string): string[] =>
  given.map((each) => String(scalarOf(each, pointer)));

/** A text, a number or a boolean. Throws 400 for another value at a JSON Pointer. */
function scalarOf(value: Json, pointer: string): Value {
  if (typeof value === 'object') throw noValue(pointer);
  if (typeof value === 'string' && value.length > MAX_QUERY)
    throw invalidBody(`must have at most ${MAX_QUERY} characters`, 'maxLength', pointer);
  return value;
}

const noValue = (pointer: string) =>
  invalidBody('must be a text, a number or true or false', 'type', pointer);
