import type { Resource } from '../collection/resource.js';
import { invalidBody, invalidQuery } from '../errors/input-errors.js';
import type { FilterTree, Given, QueryValues, Value } from '../http/query-values.js';
import { escapeToken, isObject, type Json } from '../json.js';
import { LIST_OPERATORS, MAX_VALUES } from './condition.js';
import {
  COMBINATIONS,
  escapeName,
  filterName,
  filterSegments,
  filterTree,
  isCondition,
  MAX_NESTING,
  type NamedCondition,
} from './query-names.js';
import { directed } from './read-sort.js';

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
