import { _, Ajv2020, type CodeKeywordDefinition } from 'ajv/dist/2020.js';
import { isImportableHash } from '../passwords/password-hash.js';
import { membership, UNIQUE_ITEMS } from './equal-values.js';
import { MULTIPLE_OF } from './multiple-of.js';
import { compilePattern, isRegularExpression } from './pattern.js';
import { requireRewritten, rewritten } from './rewritten-code.js';
import { countWork, measured, spendOn } from './schema-cost.js';
import { addTimeFormats, isEmail } from './times.js';

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
    // The library prints the code that it cannot compile.
    logger: false,
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
      process: (code, env) => rewritten(measured(code, env!)),
    },
  });
  ajv.removeKeyword('uniqueItems').addKeyword(UNIQUE_ITEMS);
  ajv.removeKeyword('multipleOf').addKeyword(MULTIPLE_OF);
  for (const keyword of ALTERNATIVES) replace(ajv, keyword, withoutFailures);
  for (const keyword of ['enum', 'const']) replace(ajv, keyword, lookUp);
  replace(ajv, '$ref', countReference);
  ajv.addVocabulary([...KEYWORDS, '$anchor']);
  formats?.(ajv);
  for (const keyword of UNSUPPORTED) ajv.removeKeyword(keyword);
  addTimeFormats(ajv);
  ajv.addFormat('email', isEmail);
  if ('regex' in ajv.formats) ajv.addFormat('regex', isRegularExpression);
  ajv.addFormat('password-hash', isImportableHash);
  // The format of the library takes more than linear time.
  if (formats) ajv.addFormat('url', (text) => /^(?:https?|ftp):\/\/\S+$/i.test(text) && URL.canParse(text));
  countWork(ajv);
  requireRewritten(ajv);
  return ajv;
}

/**
 * Keywords of the library that are not of JSON Schema 2020-12, which no reader of the OpenAPI document knows, and references whose
 * target depends on the way to a value: $ref and $anchor name a schema.
 */
const UNSUPPORTED = [
  'nullable',
  '$recursiveRef',
  '$recursiveAnchor',
  '$dynamicRef',
  '$dynamicAnchor',
  'formatMinimum',
  'formatMaximum',
  'formatExclusiveMinimum',
  'formatExclusiveMaximum',
];

/** Keywords of alternatives, which may fail without a failure of the value. */
const ALTERNATIVES = ['anyOf', 'oneOf', 'contains'];
/** Alternatives up to which all failures of a value contain those of each. */
const MAX_EXPLAINED = 20;

/** Gives a keyword of the library other code; `definition`: its own. */
function replace(
  ajv: Ajv2020,
  keyword: string,
  code: (definition: CodeKeywordDefinition, ...args: Parameters<CodeKeywordDefinition['code']>) => void,
): void {
  const definition = ajv.getKeyword(keyword) as CodeKeywordDefinition;
  ajv.removeKeyword(keyword);
  ajv.addKeyword({ ...definition, keyword, code: (...args) => code(definition, ...args) });
}

/** Leaves out the failures of alternatives that no response shows: each would take as long as twenty comparisons. */
const withoutFailures: Parameters<typeof replace>[2] = (definition, context, ruleType) => {
  const { subschema } = context;
  if (!context.allErrors || context.schema.length > MAX_EXPLAINED)
    context.subschema = (application, valid) => {
      const made = subschema.call(context, { ...application, createErrors: false }, valid);
      context.reset();
      return made;
    };
  definition.code(context, ruleType);
};

/** Work of a schema by reference, which also copies the names of the members that it knows. */
const REFERENCE_UNITS = 5;

/** Makes a reference count where nothing else is beside it. */
const countReference: Parameters<typeof replace>[2] = (definition, context, ruleType) => {
  const { gen, data } = context;
  gen.code(_`${gen.scopeValue('func', { ref: spendOn })}(${data}, 1, ${REFERENCE_UNITS}, 0, 0, 1)`);
  definition.code(context, ruleType);
};

/** Lets `enum` and `const` look up a value instead of comparing it with each one. */
const lookUp: Parameters<typeof replace>[2] = ({ keyword }, context) => {
  const { gen, data, schema } = context;
  const ref = membership(keyword === 'enum' ? schema : [schema]);
  context.pass(_`${gen.scopeValue('func', { ref })}(${data})`);
};

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
