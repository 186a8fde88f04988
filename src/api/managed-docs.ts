import { JSON_TYPE, MERGE_PATCH } from '../http/media-types.js';
import {
  type ErrorName,
  json,
  listOf,
  objectOf,
  type Schema,
  schemaRef,
  TEXT,
  UNCHANGED,
  VALIDATED,
} from './doc.js';
import { type Description, managing } from './endpoint.js';
import type { Kind } from './kind.js';

const STORED: readonly ErrorName[] = ['VALIDATION_ERROR', 'INSUFFICIENT_STORAGE'];

const MISSING: ErrorName = ['NOT_FOUND', 'simple'];

const REPEATED = [...VALIDATED, 'Idempotency-Replayed', 'Preference-Applied'];

/** The description of a creation, of which a repeat with the same Idempotency-Key gets the first response without its secret. */
export function creating({ doc, ...rest }: Description): Description {
  const errors: ErrorName[] = [...doc!.errors!, 'IDEMPOTENCY_KEY_IN_USE', 'IDEMPOTENCY_KEY_REUSED'];
  return { ...rest, isOnce: true, doc: { ...doc!, errors, fields: ['Idempotency-Key'] } };
}

/** The descriptions of the endpoints of managed resources. */
export function describeKind(kind: Kind) {
  const { path, type, one, many, order, limit, secret, creationErrors = [] } = kind;
  const describe = (method: Description['method'], at: string, doc: Parameters<typeof managing>[3]) =>
    managing(method, at, many, doc, kind.requires);
  const stored = {
    success: { 200: json('What is stored after the write.', type, VALIDATED) },
    errors: [MISSING, 'PRECONDITION_FAILED', ...STORED] as ErrorName[],
    fields: ['If-Match'],
  };
  return {
    list: {
      ...describe('GET', path, {
        id: `list${type}s`,
        summary: `List ${many}, ${order}`,
        success: {
          200: json(`Up to ${limit} ${many}.`, `${type}List`, [...VALIDATED, 'Link']),
          304: UNCHANGED,
        },
        errors: ['PRECONDITION_FAILED'],
        fields: ['If-Match', 'If-None-Match'],
        query: { after: { type: 'string', description: 'The id of the last one of the page before.' } },
      }),
      homeLink: kind.homeLink,
      kind,
      schemas: (collections: readonly string[]) => schemasOf(kind, collections),
    },
    create: describe('POST', path, {
      id: `create${type}`,
      summary: `Create ${one}`,
      body: { [JSON_TYPE]: `${type}Input` },
      success: {
        201: json('What was created.', secret === undefined ? type : `New${type}`, [...REPEATED, 'Location']),
      },
      errors: [...STORED, ...creationErrors],
    }),
    get: describe('GET', `${path}/:id`, {
      id: `get${type}`,
      summary: `Show ${one}`,
      success: { 200: json('The requested one.', type, VALIDATED), 304: UNCHANGED },
      errors: [MISSING, 'PRECONDITION_FAILED'],
      fields: ['If-Match', 'If-None-Match'],
    }),
    replace: describe('PUT', `${path}/:id`, {
      ...stored,
      id: `replace${type}`,
      summary: `Replace the fields of ${one}`,
      body: { [JSON_TYPE]: `${type}Input` },
    }),
    change: describe('PATCH', `${path}/:id`, {
      ...stored,
      id: `update${type}`,
      summary: `Change fields of ${one}`,
      body: { [JSON_TYPE]: `${type}Patch`, [MERGE_PATCH]: `${type}Patch` },
    }),
    remove: describe('DELETE', `${path}/:id`, {
      id: `delete${type}`,
      summary: `Delete ${one}`,
      success: { 204: { description: 'It does not exist (any more).' } },
      errors: ['PRECONDITION_FAILED'],
      fields: ['If-Match'],
    }),
    rotate: describe('POST', `${path}/:id/rotate`, {
      id: `rotate${type}Secret`,
      summary: kind.rotation ?? '',
      success: {
        200: json(`The ${kind.singular} with its new secret, which is shown once.`, `New${type}`, VALIDATED),
        204: { description: 'A repeat, which shows no secret.', headers: REPEATED },
      },
      errors: [MISSING],
    }),
  };
}

/** The schemas of managed resources. Lists of version 1 have no links. */
function schemasOf(
  { type, about, canChange, secret, input, members }: Kind,
  collections: readonly string[],
): Record<string, Schema> {
  const fields = members(collections);
  const given = input(collections) as unknown as Schema;
  const own = { _version: { type: 'integer', minimum: 1 }, _links: schemaRef('Links') };
  const whole = objectOf({ ...fields, ...own }, [...Object.keys(fields), '_version']);
  return {
    [type]: about === undefined ? whole : { ...whole, description: about },
    [`${type}Input`]: given,
    ...(canChange && { [`${type}Patch`]: { ...given, required: [] } }),
    ...(secret !== undefined && {
      [`New${type}`]: {
        allOf: [
          schemaRef(type),
          { ...objectOf({ [secret]: TEXT }, []), description: `\`${secret}\` is shown once.` },
        ],
      },
    }),
    [`${type}List`]: listOf(type),
  };
}
