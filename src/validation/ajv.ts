import { Ajv2020 } from 'ajv/dist/2020.js';
import { isImportableHash } from '../passwords/password-hash.js';
import { isEmail } from './email.js';

/** Keywords of declarations besides those of JSON Schema; schema/collection.schema.json describes them. */
export const KEYWORDS: readonly string[] = [
  'x-collection',
  'x-normalize',
  'x-index',
  'x-unique',
  'x-search',
  'x-references',
  'x-on-delete',
  'x-import-only',
  'x-was',
];

/**
 * A validator without the meta-schema, whose compilation would delay the start: declarations are checked before they are
 * used. Strict mode rejects unknown keywords. Without `allErrors` it reports the first failure.
 */
export function createAjv(allErrors = true): Ajv2020 {
  const ajv = new Ajv2020({
    allErrors,
    strictTypes: false,
    strictTuples: false,
    useDefaults: true,
    // Errors contain the schema, whose fields a message lists.
    verbose: true,
    meta: false,
    validateSchema: false,
    // The optimizer would delay the start without making the validation faster.
    code: { optimize: false },
  });
  ajv.addVocabulary([...KEYWORDS]);
  addFormats?.(ajv);
  ajv.addFormat('email', isEmail);
  ajv.addFormat('password-hash', isImportableHash);
  return ajv;
}

let addFormats: ((ajv: Ajv2020) => unknown) | undefined;
let shared: Ajv2020 | undefined;

/** The validator of all rules that bring none of their own. */
export function sharedAjv(): Ajv2020 {
  shared ??= createAjv();
  return shared;
}

/** Loads the formats of JSON Schema, besides email, for all validators created from then on. */
export async function loadFormats(): Promise<void> {
  const { default: formats } = await import('ajv-formats');
  addFormats = (ajv) => formats.default(ajv);
  shared = undefined;
}
