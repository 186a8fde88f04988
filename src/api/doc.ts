import type { Shape } from '../errors/problem.js';
import { JSON_TYPE } from '../http/media-types.js';
import type { JsonObject } from '../json.js';

/** The texts of a feature in the documents about the API, besides the descriptions of its endpoints. */
export interface Documentation {
  /** The meaning of its tags, by their names. */
  readonly tags?: Readonly<Record<string, string>>;
  /** The service sends events to targets. */
  readonly sendsEvents?: true;
  /** Browsers get errors as pages. */
  readonly hasErrorPages?: true;
}

/** A JSON Schema, or the name of one that the documents about the API have. */
export type SchemaName = string | JsonObject;

/** A response that is not an error. `content`: schemas by media type; absent: it has no content. */
export interface Success {
  readonly description: string;
  readonly content?: Readonly<Record<string, SchemaName>>;
  /** Names of its header fields, besides those of every response. */
  readonly headers?: readonly string[];
}

/** Requests of an operation whose body or responses differ from those of all its other requests. */
export interface Variant extends Pick<Doc, 'summary' | 'body' | 'success'> {}

/** An error that an endpoint responds with. The shape and the status are for codes with several. */
export type ErrorName = string | readonly [code: string, shape: Shape, status?: number];

/** The texts and schemas of an endpoint in the documents about the API. */
export interface Doc {
  /** Unique, in camel case: the name of the method in generated clients. */
  readonly id: string;
  readonly tag: string;
  readonly summary: string;
  /** Schemas of the body by media type. */
  readonly body?: Readonly<Record<string, SchemaName>>;
  readonly success: Readonly<Record<number, Success>>;
  /** Requests whose types generated clients would merge with those of the others. */
  readonly variants?: readonly Variant[];
  /** Errors besides those that follow from what the endpoint requires and accepts. */
  readonly errors?: readonly ErrorName[];
  /** Whether the errors of other endpoints are its errors as well. */
  readonly runsOthers?: boolean;
  /** Names of the header fields that a request may have. */
  readonly fields?: readonly string[];
  /** The query parameters. */
  readonly query?: Readonly<Record<string, JsonObject>>;
}

/** The fields of a representation with an ETag. */
export const VALIDATED = ['Cache-Control', 'ETag'];

export const UNCHANGED: Success = {
  description: 'The client has the current representation.',
  headers: VALIDATED,
};

/** A response with JSON. */
export const json = (description: string, schema: SchemaName, headers: readonly string[] = []): Success => ({
  description,
  content: { [JSON_TYPE]: schema },
  headers,
});

/** A JSON Schema, draft 2020-12. */
export type Schema = JsonObject;

export const TEXT: Schema = { type: 'string' };

export const TEXT_OR_NULL: Schema = { type: ['string', 'null'] };

export const TIME: Schema = { type: 'string', format: 'date-time' };

export const TIME_OR_NULL: Schema = { type: ['string', 'null'], format: 'date-time' };

export const ID: Schema = { type: 'string', format: 'uuid' };

export const TEXTS: Schema = { type: 'array', items: TEXT };

export const ref = (kind: string, name: string): JsonObject => ({ $ref: `#/components/${kind}/${name}` });

export const schemaRef = (name: string): Schema => ref('schemas', name);

export const arrayOf = (items: Schema): Schema => ({ type: 'array', items });

export const objectOf = (
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[] = Object.keys(properties),
): Schema => ({ type: 'object', properties: { ...properties }, required: [...required] });

/** The schema of a page of a list of the service's own. */
export const listOf = (name: string): Schema =>
  objectOf({
    data: arrayOf(schemaRef(name)),
    meta: schemaRef('CursorMeta'),
    links: schemaRef('CursorLinks'),
  });
