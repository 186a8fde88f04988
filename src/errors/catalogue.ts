import type { JsonObject } from '../json.js';
import * as caller from './caller-errors.js';
import * as input from './input-errors.js';
import type { ProblemConstructor, ProblemType } from './problem.js';
import * as record from './record-errors.js';
import * as request from './request-errors.js';
import * as service from './service-errors.js';

/** The exports of a file that defines errors. */
type Exports = Readonly<Record<string, unknown>>;

/** The codes that a file defines. */
export type CodesOf<M> = { [K in keyof M]: M[K] extends ProblemConstructor<infer C> ? C : never }[keyof M];

/** The types of problems that a file defines. */
export const typesIn = <M extends Exports>(exports: M): ProblemType<CodesOf<M>>[] =>
  Object.values(exports).flatMap((each) =>
    typeof each === 'function' && 'type' in each ? [each.type as ProblemType<CodesOf<M>>] : [],
  );

/** The types of problems that each service has. Those of its features are in addition. */
export const CORE_TYPES = [
  ...typesIn(request),
  ...typesIn(input),
  ...typesIn(record),
  ...typesIn(caller),
  ...typesIn(service),
] as const;

/** The type of a code; undefined: no type has it. */
export function typeOf<C extends string>(
  types: readonly ProblemType<C>[],
  code: string,
): ProblemType<C> | undefined {
  return (
    types.find((type) => type.code === code) ??
    types.find(({ suffix }) => suffix !== undefined && isNamed(code, suffix))
  );
}

const isNamed = (code: string, suffix: string): boolean =>
  code.endsWith(suffix) && /^[A-Z][A-Z0-9_]{0,100}$/.test(code.slice(0, -suffix.length));

/** A code as the list of codes shows it. */
export function entryOf({ status, shapes, message, cause, remedy }: ProblemType, code: string): JsonObject {
  return { code, status, shapes: [...shapes], message, cause, remedy };
}

/** The entries of all types by their codes. */
export const entriesOf = (types: readonly ProblemType[]): JsonObject[] =>
  types.map((type) => entryOf(type, type.code)).sort((a, b) => (a.code! < b.code! ? -1 : 1));
