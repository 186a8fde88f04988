import { CORE_TYPES, typeOf, typesIn } from '../../errors/catalogue.js';
import type { ProblemType, Shape } from '../../errors/problem.js';
import type { JsonObject } from '../../json.js';
import { type Principal, permit, type Requirement, STRANGER } from '../../principal.js';
import * as webhooks from '../webhooks/errors.js';

/** A JSON Schema, draft 2020-12. */
export type Schema = JsonObject;

/** One error that an operation responds with. */
export interface ErrorRef {
  readonly status: number;
  readonly code: string;
  readonly shape: Shape;
}

/** A response that is not an error. `content`: schemas by media type; absent: it has no content. */
export interface Success {
  readonly description: string;
  readonly content?: Readonly<Record<string, Schema>>;
  /** Names of `HEADERS` besides those of every response. */
  readonly headers?: readonly string[];
}

/** What the document says of one method of one path, besides what the route itself says. */
export interface OperationDescription {
  /** Unique, in camel case: the name of the method in generated clients. */
  readonly id: string;
  readonly summary: string;
  readonly tag: string;
  /** Schemas of the body by media type. */
  readonly body?: Readonly<Record<string, Schema>>;
  readonly success: Readonly<Record<number, Success>>;
  /** Errors besides those that follow from the route. */
  readonly errors?: readonly ErrorRef[];
  /** Names of `PARAMETERS` that are header fields. */
  readonly fields?: readonly string[];
  /** Parameters of the query that are not in `PARAMETERS`. */
  readonly query?: Readonly<Record<string, Schema>>;
}

/** Descriptions by method and path: `GET /whoami`. */
export type Descriptions = Readonly<Record<string, OperationDescription>>;

/** The errors of the core and of the features whose endpoints are described here. */
export const ERROR_TYPES = [...CORE_TYPES, ...typesIn(webhooks)];

/** An error of the table; `shape` is for codes with several. */
export const error = (code: (typeof ERROR_TYPES)[number]['code'], shape?: Shape): ErrorRef =>
  refTo(typeOf(ERROR_TYPES, code)!, shape);

/** A reference to an error. */
export const refTo = ({ status, code, shapes }: ProblemType, shape = shapes[0]!): ErrorRef => ({
  status,
  code,
  shape,
});

export const ref = (kind: string, name: string): JsonObject => ({ $ref: `#/components/${kind}/${name}` });

export const schemaRef = (name: string): Schema => ref('schemas', name);

export const arrayOf = (items: Schema): Schema => ({ type: 'array', items });

export const objectOf = (
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[] = Object.keys(properties),
): Schema => ({ type: 'object', properties: { ...properties }, required: [...required] });

/** Words as a name of a type: `order line` and `order_lines` are OrderLine and OrderLines. */
export const typeName = (words: string): string =>
  words
    .split(/[^a-zA-Z0-9]/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('');

/** Whether the document shows an operation to a caller. */
export const mayUse = (caller: Principal, requires: Requirement): boolean => {
  if (requires === 'credential') return caller !== STRANGER;
  try {
    // The path of a record may be the caller's own.
    permit(caller, requires, { id: caller.subject });
    return true;
  } catch {
    return false;
  }
};

/** Whether a caller may read records, with `self` its own. */
export const mayRead = (caller: Principal, scope: string | undefined): boolean =>
  scope === undefined || caller.scopes.has('self') || mayUse(caller, { scopes: [scope] });
