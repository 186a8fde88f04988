import { _, Ajv2020, type CodeKeywordDefinition } from 'ajv/dist/2020.js';
import { isImportableHash } from '../passwords/password-hash.js';
import { isEmail } from './email.js';
import { MULTIPLE_OF } from './multiple-of.js';
import { compilePattern, isRegularExpression } from './pattern.js';
import { requireRewritten, rewritten } from './rewritten-code.js';
import { addTimeFormats } from './times.js';
import { UNIQUE_ITEMS } from './unique-items.js';
import { isUrl } from './url.js';
import { requireFewErrors, spend } from './work-limit.js';

/** Keywords of declarations, besides those of JSON Schema, that are about a field. */
export const OWN_FIELD_KEYWORDS: readonly string[] = [
  'x-normalize',
  'x-index',
  'x-unique',
  'x-search',
  'x-references',
  'x-on-delete',
  'x-import-only',
  'x-set',
  'x-immutable',
  'x-was',
];

/** Keywords of declarations besides those of JSON Schema; schema/collection.schema.json describes them. */
export const KEYWORDS: readonly string[] = ['x-collection', ...OWN_FIELD_KEYWORDS];

/**
 * A validator without the meta-schema, whose compilation would delay the start: declarations are checked before they are
 * used. Strict mode rejects unknown keywords. Without `allErrors` it reports the first failure, and checks sizes first.
 */
export function createAjv({
  allErrors = true,
  isStrict = true,
  formats = addFormats,
}: {
  readonly allErrors?: boolean;
  /** False: unknown keywords and formats, and those without effect, are left out. */
  readonly isStrict?: boolean;
  readonly formats?: ((ajv: Ajv2020) => unknown) | undefined;
} = {}): Ajv2020 {
  const ajv = new Ajv2020({
    allErrors,
    strictSchema: isStrict,
    ...(isStrict ? {} : { logger: false }),
    strictTypes: false,
    strictTuples: false,
    allowMatchingProperties: true,
    useDefaults: true,
    // A member is never one of Object.prototype: a field can be called constructor.
    ownProperties: true,
    // Errors contain the schema, whose fields a message lists.
    verbose: true,
    meta: false,
    validateSchema: false,
    // The optimizer would delay the start without making the validation faster.
    code: {
      optimize: false,
      regExp: Object.assign(compilePattern, { code: 'new RegExp' }),
      process: rewritten,
    },
  });
  ajv.removeKeyword('uniqueItems').addKeyword(UNIQUE_ITEMS);
  ajv.removeKeyword('multipleOf').addKeyword(MULTIPLE_OF);
  for (const keyword of COUNTED) count(ajv, keyword);
  ajv.addVocabulary([...KEYWORDS]);
  formats?.(ajv);
  removeOtherDialects(ajv);
  addTimeFormats(ajv);
  ajv.addFormat('email', isEmail);
  if ('regex' in ajv.formats) ajv.addFormat('regex', isRegularExpression);
  ajv.addFormat('password-hash', isImportableHash);
  if (formats) ajv.addFormat('url', isUrl);
  requireRewritten(ajv);
  return ajv;
}

/** Keywords that are not of JSON Schema 2020-12, though the library has them: no reader of the OpenAPI document knows them. */
const OF_OTHER_DIALECTS = [
  'nullable',
  '$recursiveRef',
  '$recursiveAnchor',
  'formatMinimum',
  'formatMaximum',
  'formatExclusiveMinimum',
  'formatExclusiveMaximum',
];

/**
 * Removes the keywords of other dialects, and lets `$dynamicRef` be a `$ref`: the library compares the value with the whole
 * schema if none around it has the dynamic anchor. Each dynamic anchor is in one place, so that both mean one schema.
 */
function removeOtherDialects(ajv: Ajv2020): void {
  for (const keyword of OF_OTHER_DIALECTS) ajv.removeKeyword(keyword);
  const { keyword: _, ...reference } = ajv.getKeyword('$ref') as CodeKeywordDefinition;
  ajv.removeKeyword('$dynamicRef').addKeyword({ ...reference, keyword: '$dynamicRef' });
}

/** Keywords by which a value may be compared with several schemas, or with one many times. */
const COUNTED = ['$ref', 'anyOf', 'oneOf', 'contains'];
/** Work for each element of an array that `contains` looks at: each that does not match makes a failure. */
const ELEMENT_UNITS = 20;
/** Work for a value whose schema is another one by reference. */
const REFERENCE_UNITS = 5;

/** Makes a keyword count as work of the validation. */
function count(ajv: Ajv2020, keyword: string): void {
  const definition = ajv.getKeyword(keyword) as CodeKeywordDefinition;
  ajv.removeKeyword(keyword).addKeyword({
    ...definition,
    code: (context, ruleType) => {
      const { gen, schema } = context;
      const units =
        keyword === 'contains'
          ? _`${context.data}.length * ${ELEMENT_UNITS}`
          : Array.isArray(schema)
            ? schema.length
            : REFERENCE_UNITS;
      gen.code(_`${gen.scopeValue('func', { ref: spend })}(${units})`);
      definition.code(context, ruleType);
      const limit = gen.scopeValue('func', { ref: requireFewErrors });
      gen.code(_`if (vErrors !== null) ${limit}(vErrors.length)`);
    },
  });
}

let addFormats: ((ajv: Ajv2020) => unknown) | undefined;
const shared = new Map<boolean, Ajv2020>();

/** The validators of all rules that bring none of their own. */
export function sharedAjv(allErrors: boolean): Ajv2020 {
  const ajv = shared.get(allErrors) ?? createAjv({ allErrors });
  shared.set(allErrors, ajv);
  return ajv;
}

/** Loads the formats of JSON Schema that need a library, for all validators created from then on. */
export async function loadFormats(): Promise<void> {
  const { default: formats } = await import('ajv-formats');
  addFormats = (ajv) => formats.default(ajv);
  shared.clear();
}
