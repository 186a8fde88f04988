import { Ajv2020 } from 'ajv/dist/2020.js';
import { faultsOf } from '../declarations/validation-faults.js';
import type { Json, JsonObject } from '../json.js';
import { InputError } from './exit.js';

/** Bytes of a file of cases. */
export const MAX_CASES_BYTES = 1_048_576;
const MAX_CASES = 1000;

/** The outcome of a request, as far as a case says something about it. */
export interface ExpectedOutcome {
  readonly status: number;
  readonly code?: string;
  /** The records in the response, by their names or ids, in any order. */
  readonly ids?: readonly string[];
  /** The fields in the response, besides those that each record has. */
  readonly fields?: readonly string[];
  /** The fields that the caller may not set. */
  readonly denied?: readonly string[];
}

const TEXTS = { type: 'array', items: { type: 'string' } };
const STATUS = { minimum: 100, maximum: 599 };
const CALLER = {
  type: 'object',
  additionalProperties: false,
  properties: {
    user: { type: 'string' },
    subject: { type: 'string', minLength: 1 },
    scopes: { type: 'string' },
    claims: { type: 'object' },
  },
};
const FILE = {
  type: 'object',
  required: ['cases'],
  additionalProperties: false,
  properties: {
    $schema: { type: 'string' },
    records: {
      type: 'object',
      additionalProperties: { type: 'object', additionalProperties: { type: 'object' } },
    },
    callers: { type: 'object', additionalProperties: CALLER },
    cases: {
      type: 'array',
      minItems: 1,
      maxItems: MAX_CASES,
      items: {
        type: 'object',
        required: ['as', 'request', 'expect'],
        additionalProperties: false,
        properties: {
          name: { type: 'string' },
          as: { ...CALLER, type: ['string', 'object'] },
          request: { type: 'string', pattern: '^(GET|HEAD|QUERY|POST|PUT|PATCH|DELETE) /\\S*$' },
          headers: { type: 'object', additionalProperties: { type: 'string' } },
          body: true,
          expect: {
            type: ['integer', 'object'],
            ...STATUS,
            required: ['status'],
            additionalProperties: false,
            properties: {
              status: { type: 'integer', ...STATUS },
              code: { type: 'string' },
              ids: TEXTS,
              fields: TEXTS,
              denied: TEXTS,
            },
          },
        },
      },
    },
  },
};

/** A caller in a file of cases. */
export interface GivenCaller {
  readonly user?: string;
  readonly subject?: string;
  readonly scopes?: string;
  readonly claims?: JsonObject;
}

/** A file of cases as it is written. */
export interface GivenFile {
  readonly records?: Readonly<Record<string, Readonly<Record<string, JsonObject>>>>;
  readonly callers?: Readonly<Record<string, GivenCaller>>;
  readonly cases: readonly {
    readonly name?: string;
    readonly as: string | GivenCaller;
    readonly request: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: Json;
    readonly expect: number | ExpectedOutcome;
  }[];
}

/** The content of a file of cases. Throws InputError with each fault of its form. */
export function parsedFile(text: string, file: string): GivenFile {
  if (text.length > MAX_CASES_BYTES) throw new InputError(`${file} has more than ${MAX_CASES_BYTES} bytes`);
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (error) {
    throw new InputError(`${file} is not JSON: ${(error as Error).message}`);
  }
  const validate = new Ajv2020({ allErrors: true, strict: false }).compile(FILE);
  if (validate(value)) return value as unknown as GivenFile;
  const faults = faultsOf(file, validate.errors ?? []);
  throw new InputError(faults.map(({ pointer, reason }) => `${file}#${pointer}: ${reason}`).join('\n'));
}
