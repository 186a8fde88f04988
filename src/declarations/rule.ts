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

/** Rules that are about some places alone. */
export const where = <Place>(condition: (place: Place) => unknown, rules: readonly Rule<Place>[]) =>
  rules.map(
    ({ when, ...each }): Rule<Place> => ({
      ...each,
      when: (place, value, names) => condition(place) && when(place, value, names),
    }),
  );

/** A fault of a schema, with the rule that finds it. */
export interface Fault {
  readonly pointer: string;
  readonly reason: string;
  readonly rule: unknown;
}

/** The faults of a schema by a table of rules. */
export function* faultsAt<Place extends { readonly schema: JsonObject }>(
  place: Place,
  rules: readonly Rule<Place>[],
): Generator<Fault> {
  for (const each of rules)
    for (const { pointer, value, names } of [each.at].flat().flatMap((at) => partsAt(place.schema, at))) {
      if (!each.when(place, value, names)) continue;
      const { message } = each;
      const reason = typeof message === 'string' ? message : message(place, value, names);
      if (reason !== undefined) yield { pointer, reason, rule: each };
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
