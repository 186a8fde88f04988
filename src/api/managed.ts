import type { ScopeRequirement } from '../principal.js';
import { type ErrorName, json, UNCHANGED, VALIDATED } from './doc.js';
import type { Description } from './endpoint.js';

const JSON_TYPE = 'application/json';
const ADMIN: ScopeRequirement = { scopes: ['admin'] };
const STORED: readonly ErrorName[] = ['VALIDATION_ERROR', 'INSUFFICIENT_STORAGE'];
const MISSING: ErrorName = ['NOT_FOUND', 'simple'];

/** The words for something that operators manage: path, type, and in sentences. */
interface Words {
  readonly path: string;
  readonly type: string;
  readonly one: string;
  readonly many: string;
  readonly order: 'newest first' | 'by id';
  /** Maximum entries of a page of the list. */
  readonly limit: number;
}

/** An endpoint for operators. */
export const managing = (
  method: Description['method'],
  path: string,
  notInBatch: string,
  doc: Omit<NonNullable<Description['doc']>, 'tag'>,
): Description => ({ method, path, requires: ADMIN, notInBatch, doc: { ...doc, tag: notInBatch } });

/** The descriptions of the endpoints for something that operators manage. `creationErrors`: further ones of a creation. */
export function describeManaged(
  { path, type, one, many, order, limit }: Words,
  creationErrors: readonly ErrorName[] = [],
) {
  const stored = {
    success: { 200: json('What is stored after the write.', type, VALIDATED) },
    errors: [MISSING, 'PRECONDITION_FAILED', ...STORED] as ErrorName[],
    fields: ['If-Match'],
  };
  return {
    list: managing('GET', path, many, {
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
    create: managing('POST', path, many, {
      id: `create${type}`,
      summary: `Create ${one}`,
      body: { [JSON_TYPE]: `${type}Input` },
      success: {
        201: json('What was created. A secret is shown once.', `New${type}`, [...VALIDATED, 'Location']),
      },
      errors: [...STORED, ...creationErrors],
    }),
    get: managing('GET', `${path}/:id`, many, {
      id: `get${type}`,
      summary: `Show ${one}`,
      success: { 200: json('The requested one.', type, VALIDATED), 304: UNCHANGED },
      errors: [MISSING, 'PRECONDITION_FAILED'],
      fields: ['If-Match', 'If-None-Match'],
    }),
    replace: managing('PUT', `${path}/:id`, many, {
      ...stored,
      id: `replace${type}`,
      summary: `Replace the fields of ${one}`,
      body: { [JSON_TYPE]: `${type}Input` },
    }),
    change: managing('PATCH', `${path}/:id`, many, {
      ...stored,
      id: `update${type}`,
      summary: `Change fields of ${one}`,
      body: { [JSON_TYPE]: `${type}Patch`, 'application/merge-patch+json': `${type}Patch` },
    }),
    remove: managing('DELETE', `${path}/:id`, many, {
      id: `delete${type}`,
      summary: `Delete ${one}`,
      success: { 204: { description: 'It does not exist (any more).' } },
      errors: ['PRECONDITION_FAILED'],
      fields: ['If-Match'],
    }),
  };
}
