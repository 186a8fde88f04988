import { escapeToken, type Json, type JsonObject } from '../json.js';

/** Judges a value in a schema. `names` are what each `*` of the rule stands for. */
type Judge<Place, Result> = (place: Place, value: Json | undefined, names: readonly string[]) => Result;

/** A fault that a schema may have: its places, its reason, and the values that are a fault there. */
export interface Rule<Place> {
  /** The places of the fault, as JSON Pointers into the schema in which `*` is each member. A last member may be absent. */
  readonly at: string | readonly string[];
  /** A function without a result finds no fault. */
  readonly message: string | Judge<Place, string | undefined>;
  readonly when: Judge<Place, unknown>;
}

/** A row of a table of rules. */
export const rule = <Place>(
  at: Rule<Place>['at'],
  message: Rule<Place>['message'],
  when: Rule<Place>['when'] = () => true,
): Rule<Place> => ({ at, message, when });

/** A fault of a schema. */
export interface Fault {
  readonly pointer: string;
  readonly reason: string;
}

/** The faults of a schema by a table of rules. */
export function* faultsAt<Place extends { readonly schema: JsonObject }>(
  place: Place,
  rules: readonly Rule<Place>[],
): Generator<Fault> {
  for (const each of rules)
    for (const part of [each.at].flat().flatMap((at) => partsAt(place.schema, at))) {
      const reason = reasonOf(each, place, part);
      if (reason !== undefined) yield { pointer: part.pointer, reason };
    }
}

function reasonOf<Place>({ when, message }: Rule<Place>, place: Place, { value, names }: Part) {
  try {
    if (!when(place, value, names)) return undefined;
    return typeof message === 'string' ? message : message(place, value, names);
  } catch (error) {
    // The value of a keyword has another type, which is a fault by the schema of declarations.
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

interface Part {
  readonly pointer: string;
  readonly value: Json | undefined;
  readonly names: readonly string[];
}

function partsAt(schema: JsonObject, at: string): Part[] {
  const below = ({ pointer, value, names }: Part, token: string): Part[] => {
    if (typeof value !== 'object' || value === null) return [];
    const members =
      token === '*'
        ? Object.entries(value)
        : [[token, Object.hasOwn(value, token) ? (value as JsonObject)[token] : undefined] as const];
    return members.map(([name, member]) => ({
      pointer: `${pointer}/${escapeToken(name)}`,
      value: member,
      names: token === '*' ? [...names, name] : names,
    }));
  };
  const root: Part = { pointer: '', value: schema, names: [] };
  return at
    .split('/')
    .slice(1)
    .reduce((parts, token) => parts.flatMap((part) => below(part, token)), [root]);
}
