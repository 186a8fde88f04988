import { STATUS_CODES } from 'node:http';
import {
  type ErrorName,
  objectOf,
  ref,
  type Schema,
  type SchemaName,
  type Success,
  schemaRef,
} from '../../api/doc.js';
import { exampleOf } from '../../api/document-endpoints.js';
import { typeOf } from '../../errors/catalogue.js';
import { type ProblemType, type Shape, withShape } from '../../errors/problem.js';
import type { JsonObject } from '../../json.js';
import type { Version } from '../../versions/supported.js';

/** One error that an operation responds with. */
export interface ErrorRef {
  readonly status: number;
  readonly code: string;
  readonly shape: Shape;
}

/** Errors that are possible under a condition. */
export const when = (isPossible: boolean, ...errors: ErrorName[]): ErrorName[] => (isPossible ? errors : []);

/** The schema that a document names. */
export const schemaOf = (schema: SchemaName): Schema =>
  typeof schema === 'string' ? schemaRef(schema) : schema;

/** The responses of operations, which share equal error responses as components. */
export class Responses {
  readonly components: Record<string, JsonObject> = {};

  /** `common`: names of the header fields of every response. */
  constructor(
    readonly common: readonly string[],
    readonly version: Version,
    readonly errorTypes: readonly ProblemType[],
    readonly hasErrorPages: boolean,
  ) {}

  /** The error that a description names. Its status follows from its code, unless the name has one. */
  errorOf(name: ErrorName): ErrorRef {
    const [code, shape, status] = typeof name === 'string' ? [name] : name;
    const type = typeOf(this.errorTypes, code)!;
    return { status: status ?? type.status, code, shape: shape ?? type.shapes[0]! };
  }

  /** With `offers` of pages, browsers get one instead of JSON. */
  success({ description, content: data, headers = [] }: Success, offers: readonly string[] = []): JsonObject {
    const isPage = offers.includes('text/html') && data !== undefined && 'application/json' in data;
    const content = isPage ? { ...data, 'text/html': { type: 'string' } } : data;
    return {
      description,
      headers: this.#headers(headers),
      ...(content
        ? {
            content: Object.fromEntries(
              Object.entries(content).map(([type, schema]) => [type, { schema: schemaOf(schema) }]),
            ),
          }
        : {}),
    };
  }

  /** A reference to the response of one status with some of its codes. */
  errors(status: number, errors: readonly ErrorRef[]): JsonObject {
    const unique = new Map(errors.map((each) => [`${each.code}${each.shape}`, each]));
    const sorted = [...unique.values()].sort((a, b) => (a.code < b.code ? -1 : 1));
    const named = sorted.map(({ code, shape }) => (shape === 'envelope' ? code : `${code}-${shape}`));
    // Generators derive identifiers from names, and orval 7 none that begins with a digit.
    const name = [`Error${status}`, ...named].join('.');
    this.components[name] ??= this.#errorResponse(status, sorted);
    return ref('responses', name);
  }

  #errorResponse(status: number, errors: readonly ErrorRef[]): JsonObject {
    const codes = [...new Set(errors.map(({ code }) => code as string))];
    const isRetried = [429, 503, 507].includes(status) || codes.includes('IDEMPOTENCY_KEY_IN_USE');
    const retry = isRetried ? ['Retry-After'] : [];
    const supported =
      status === 415 ? ['Accept', 'Accept-Patch', 'Accept-Post', 'Accept-Query', 'Accept-Encoding'] : [];
    const allowed = status === 405 ? ['Allow'] : [];
    const challenge = status === 401 || status === 403 ? ['WWW-Authenticate'] : [];
    const isEmpty = !this.version.errors.isAlwaysProblem && errors.every(({ shape }) => shape === 'empty');
    const without = isEmpty ? '; without content unless `Accept` names application/problem+json' : '';
    const cursor = status === 412 || status === 409 ? ['ETag'] : [];
    return {
      description: `${STATUS_CODES[status]}: ${codes.map((code) => `\`${code}\``).join(', ')}${without}`,
      headers: this.#headers([
        ...retry,
        ...challenge,
        ...cursor,
        ...supported,
        ...allowed,
        'Cache-Control',
        'Idempotency-Replayed',
      ]),
      content: {
        ...(this.version.errors.isAlwaysProblem ? this.#page : this.#contentOf(errors)),
        'application/problem+json': {
          schema: {
            allOf: [schemaRef('Problem'), { type: 'object', properties: { code: { enum: codes } } }],
          },
        },
      },
    };
  }

  /** The bodies of errors by media type; errors without a body have none. */
  #contentOf(errors: readonly ErrorRef[]): JsonObject {
    const withShape = (...shapes: string[]) => errors.filter(({ shape }) => shapes.includes(shape));
    const envelopes = withShape('envelope').map(({ code }) => code as string);
    const schemas: Schema[] = [
      ...(envelopes.length === 0 ? [] : [envelopeOf(envelopes)]),
      ...(withShape('validation').length > 0 ? [schemaRef('ValidationError')] : []),
      ...(withShape('simple').length > 0 ? [schemaRef('SimpleError')] : []),
    ];
    const isText = withShape('text').length > 0;
    const shown = withShape('envelope', 'validation', 'simple');
    const examples = Object.fromEntries(shown.map((each) => this.#exampleOf(each)));
    return {
      ...(schemas.length === 0
        ? {}
        : {
            'application/json': {
              schema: schemas.length === 1 ? schemas[0]! : { anyOf: schemas },
              examples,
            },
            ...this.#page,
          }),
      ...(isText ? { 'text/plain': { schema: { type: 'string' } } } : {}),
    };
  }

  /** A body with the code, as the service makes it. */
  #exampleOf({ code, shape }: ErrorRef): [name: string, example: JsonObject] {
    const problem = withShape(typeOf(this.errorTypes, code)!.example(code), shape);
    return [code, { value: exampleOf(problem)[1] }];
  }

  get #page(): JsonObject {
    return this.hasErrorPages ? { 'text/html': { schema: { type: 'string' } } } : {};
  }

  #headers(names: readonly string[]): JsonObject {
    return Object.fromEntries([...this.common, ...names].map((name) => [name, ref('headers', name)]));
  }
}

/** The envelope with some codes. It repeats the schema Error, since linters want each member beside the others. */
function envelopeOf(codes: readonly string[]): Schema {
  const text = { type: 'string' };
  const error = objectOf({ code: { enum: [...codes] }, message: text, details: {}, requestId: text }, [
    'code',
    'message',
  ]);
  return objectOf({ error });
}
