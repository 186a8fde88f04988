import type { JsonObject } from '../json.js';
import type { ErrorDescription } from './error-description.js';
import { REQUEST_CODES } from './request-codes.js';
import { STATE_CODES } from './state-codes.js';

/** Every code of an error response, with its status. `GET /errors/<CODE>` shows an entry. */
export const CATALOGUE = { ...REQUEST_CODES, ...STATE_CODES } as const;

/** The ends of codes that begin with the name of a parent or of a field. */
export const NAMED = {
  _NOT_FOUND: {
    status: 404,
    message: 'There is no such record.',
    cause: 'The path names a parent that does not exist (404), or a field refers to a missing record (422).',
    remedy: 'Use the id of an existing record; details.path is the field.',
  },
  _TAKEN: {
    status: 409,
    message: 'Another record has this value.',
    cause: 'A field or certificate that must be unique is that of another record.',
    remedy: 'Send another value, or change the other record.',
  },
} as const satisfies Readonly<Record<string, ErrorDescription>>;

/** An entry of the catalogue, as `GET /errors/<CODE>` shows it. */
export type ErrorEntry = Required<ErrorDescription> & { readonly code: string } & JsonObject;

/** The description of a code; undefined: there is no such code. */
export function describeError(code: string): ErrorEntry | undefined {
  if (Object.hasOwn(CATALOGUE, code)) return entryOf(code, CATALOGUE[code as keyof typeof CATALOGUE]);
  const [, suffix] = /^[A-Z][A-Z_]{0,100}?(_NOT_FOUND|_TAKEN)$/.exec(code) ?? [];
  return suffix === undefined ? undefined : entryOf(code, NAMED[suffix as keyof typeof NAMED]);
}

/** All entries; those of NAMED with PARENT and FIELD in place of a name. */
export function listErrorCodes(): ErrorEntry[] {
  const examples = { PARENT_NOT_FOUND: NAMED._NOT_FOUND, FIELD_TAKEN: NAMED._TAKEN };
  return Object.entries({ ...CATALOGUE, ...examples })
    .map(([code, description]) => entryOf(code, description))
    .sort((a, b) => (a.code < b.code ? -1 : 1));
}

function entryOf(code: string, description: ErrorDescription): ErrorEntry {
  const { status, shapes = ['envelope'], message, cause, remedy } = description;
  return { code, status, shapes: [...shapes], message, cause, remedy };
}
