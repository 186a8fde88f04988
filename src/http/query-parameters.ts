import { invalidQuery, unknownParameter } from '../errors/input-errors.js';
import type { Version } from '../versions/supported.js';

/** The query of an address without its question mark, which is parsed once in a request. No reader changes the parameters. */
export class Query {
  readonly parameters: URLSearchParams;

  constructor(
    readonly text: string,
    /** Whether they come from JSON, whose keys of the order are all meant. */
    readonly isOfBody = false,
  ) {
    this.parameters = new URLSearchParams(text);
  }
}

export const NO_QUERY = new Query('');

/** The query parameters that an action reads. */
export interface Parameters {
  /** The names of the parameters; absent: the query is ignored. */
  readonly parameters?: readonly string[];
  /** The names in versions whose lists are between cursors; absent: those of `parameters`. */
  readonly keysetParameters?: readonly string[];
  /** Whether parameters with other names are accepted as well, unless lists are between cursors. */
  readonly acceptsAny?: boolean;
  /** Whether the first of repeated parameters of a numbered list applies; absent: the repetition is invalid. */
  readonly isTolerant?: boolean;
}

/** Parameters that are lists of names, of which clients repeat `include[]` as well. */
const LISTS = /^(fields|include|sort|group|aggregate|types)\[\]$/;

/** Parameters that may be repeated: lists, and alternatives of a condition. */
const REPEATED = /^(filter\[|fields\[|(fields|include|sort|group|aggregate|types)$)/;

/** Parameters of tolerant lists, of which any text has an effective value, and the first one applies. */
const FIRST_APPLIES = /^(page|limit|order|search)$/;

/** Parameters whose names go on in brackets, which their readers read or reject: `filter[price][gte]`, `fields[author]`. */
const IN_PARTS = /^(filter|fields)\[/;

/** The parameter that a whole name belongs to: itself, or the one that goes on in brackets. */
const partOf = (name: string): string => IN_PARTS.exec(name)?.[1] ?? name;

/**
 * The query of an address as the action reads it, where `include[]` is `include`. Throws 400 for a parameter that the action
 * does not have, and for a second value of one that has a single value.
 */
export function acceptedQuery(action: Parameters, query: Query, version: Version): Query {
  if (query.text === '' || !parametersIn(action, version)) return query;
  const given = [...query.parameters];
  const read = given.map(([name, value]) => [name.replace(LISTS, '$1'), value] as [string, string]);
  const names = read.map(([name]) => name);
  const isAny = action.acceptsAny && version.lists !== 'keyset';
  const own = isAny ? names.filter((name) => action.parameters?.includes(name.split('[', 1)[0]!)) : names;
  requireParameters(action, own, version);
  const isTolerant = version.lists !== 'keyset' && action.isTolerant;
  const repeated = own.find(
    (name, at) =>
      !name.startsWith('_') &&
      !REPEATED.test(name) &&
      !(isTolerant && FIRST_APPLIES.test(name)) &&
      own.indexOf(name) < at,
  );
  if (repeated !== undefined) throw invalidQuery(repeated, 'must be given once');
  return given.some(([name], at) => name !== names[at])
    ? new Query(String(new URLSearchParams(read)))
    : query;
}

/**
 * Throws 400 for a name that is no parameter of the action, so that no part of a request is left unread. Names that start with
 * an underscore are the client's own.
 */
export function requireParameters(action: Parameters, names: readonly string[], version: Version): void {
  const parameters = parametersIn(action, version);
  const unknown = names.find((name) => !name.startsWith('_') && !parameters?.includes(partOf(name)));
  if (parameters && unknown !== undefined) throw unknownParameter(unknown, parameters);
}

/** The query parameters of an action in a version; undefined: the query is ignored. */
export function parametersIn(
  { parameters, keysetParameters }: Parameters,
  { lists }: Version,
): readonly string[] | undefined {
  return lists === 'keyset' ? (keysetParameters ?? parameters) : parameters;
}

/** Whether a request has a filter. */
export const hasFilter = ({ parameters }: Query): boolean =>
  [...parameters.keys()].some((name) => partOf(name) === 'filter');
