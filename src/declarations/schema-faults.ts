import { nearest } from '../errors/edit-distance.js';
import { escapeToken, isObject, type Json, type JsonObject, member } from '../json.js';
import type { createAjv } from '../validation/ajv.js';
import { compilePattern } from '../validation/linear-patterns.js';
import type { DeclarationFault } from './declaration.js';
import { inPlace } from './field-keywords.js';
import type { Declarations } from './read-declarations.js';
import { REFERENCES, SchemaFiles, type SchemaNode, subschemas } from './schema-files.js';

/** Members that the service sets. A body may have them, and no rule of a declaration sees them. */
const OWNED: ReadonlySet<string> = new Set(['id', 'created_at', 'updated_at', '_version', '_links']);
/** Keywords below which a value may have to violate the schema. */
const NEGATIONS: ReadonlySet<string> = new Set(['not', 'if']);

type Ajv = ReturnType<typeof createAjv>;

/**
 * The faults of the schemas themselves, wherever those of the collections lead, each with its place: what a validator does
 * not know, cannot compile or can never accept. `ajv` has the schemas of all files, by their URIs.
 */
export function schemaFaults({ collections, shared }: Declarations, ajv: Ajv): DeclarationFault[] {
  const own = collections.map(({ name, schema }): [string, object] => [`${name}.json`, schema]);
  const paths = new Map(collections.map(({ name, file }) => [`${name}.json`, file]));
  const files = new SchemaFiles([...own, ...shared]);
  const known = new Known(ajv);
  const seen = new Set<JsonObject>();
  const faults = new Map<string, DeclarationFault>();
  const visit = (node: SchemaNode, isNegated: boolean): void => {
    if (seen.has(node.schema)) return;
    seen.add(node.schema);
    const found = [
      ...known.faultsOf(node),
      ...referenceFaults(node, files),
      ...patternFaults(node),
      ...ignoredFaults(node),
    ];
    if (!isNegated) found.push(...requiredFaults(node, files));
    for (const { file, pointer, reason } of found)
      faults.set(`${file}#${pointer}`, { file: paths.get(file) ?? file, pointer, reason });
    for (const { keyword, node: each } of subschemas(node))
      if (known.hasKeyword(keyword)) visit(each, isNegated || NEGATIONS.has(keyword));
    for (const { node: target } of files.referred(node)) visit(target, isNegated);
  };
  for (const { name } of collections) {
    const record = files.root(`${name}.json`);
    visit(record, false);
    for (const fault of ownedFaults(record, files))
      faults.set(`${fault.file}#${fault.pointer}`, { ...fault, file: paths.get(fault.file) ?? fault.file });
  }
  return [...faults.values()];
}

/** The keywords and formats of a validator. */
class Known {
  readonly #keywords: readonly string[];
  readonly #formats: readonly string[];

  constructor(ajv: Ajv) {
    this.#keywords = Object.keys(ajv.RULES.keywords);
    this.#formats = Object.keys(ajv.formats);
  }

  hasKeyword(keyword: string): boolean {
    return this.#keywords.includes(keyword);
  }

  /** Unknown keywords that begin with x- are left to the check of the service's own. */
  faultsOf({ schema, file, pointer }: SchemaNode): DeclarationFault[] {
    const unknown = Object.keys(schema).filter((name) => !name.startsWith('x-') && !this.hasKeyword(name));
    const faults = unknown.map((name) => ({
      file,
      pointer: `${pointer}/${escapeToken(name)}`,
      reason: `unknown keyword: "${name}"${nearest(name, this.#keywords)}`,
    }));
    const { format } = schema;
    if (typeof format === 'string' && !this.#formats.includes(format))
      faults.push({
        file,
        pointer: `${pointer}/format`,
        reason: `unknown format "${format}"${nearest(format, this.#formats)}`,
      });
    return faults;
  }
}

function referenceFaults(node: SchemaNode, files: SchemaFiles): DeclarationFault[] {
  return REFERENCES.flatMap((keyword) => {
    const reference = node.schema[keyword];
    return typeof reference === 'string' && !files.resolve(reference, node.base)
      ? [
          {
            file: node.file,
            pointer: `${node.pointer}/${keyword}`,
            reason: `can't resolve reference ${reference}`,
          },
        ]
      : [];
  });
}

function patternFaults({ schema, file, pointer }: SchemaNode): DeclarationFault[] {
  const patterns = [
    ...(typeof schema.pattern === 'string' ? [['/pattern', schema.pattern] as const] : []),
    ...Object.keys(membersOf(schema.patternProperties)).map(
      (each) => [`/patternProperties/${escapeToken(each)}`, each] as const,
    ),
  ];
  return patterns.flatMap(([at, pattern]) => {
    try {
      compilePattern(pattern, 'u');
      return [];
    } catch (error) {
      return [{ file, pointer: pointer + at, reason: (error as Error).message }];
    }
  });
}

const membersOf = (value: Json | undefined): JsonObject => (isObject(value) ? value : {});

/** Keywords that have an effect only beside one of others. */
const COMPANIONS: Readonly<Record<string, readonly string[]>> = {
  if: ['then', 'else'],
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: ['if'],
  else: ['if'],
  minContains: ['contains'],
  maxContains: ['contains'],
};

const ignoredFaults = ({ schema, file, pointer }: SchemaNode): DeclarationFault[] =>
  Object.entries(COMPANIONS)
    .filter(([keyword, others]) => keyword in schema && !others.some((other) => other in schema))
    .map(([keyword, others]) => ({
      file,
      pointer: `${pointer}/${keyword}`,
      reason: `has no effect without ${others.join(' or ')}`,
    }));

/** Members that one part of a schema requires and another one forbids. */
function requiredFaults(node: SchemaNode, files: SchemaFiles): DeclarationFault[] {
  const parts = inPlace(node, files);
  const closed = parts.filter(({ schema }) => schema.additionalProperties === false);
  const forbids = (name: string) =>
    parts.some(({ schema }) => member(membersOf(schema.properties), name) === false);
  const forbidden = requiredBy(parts)
    .filter(({ name }) => forbids(name))
    .map(({ name, ...at }) => ({
      ...at,
      reason: `requires "${name}", which no record may have: its schema is false`,
    }));
  return [
    ...forbidden,
    ...closed.flatMap(({ schema: { properties, patternProperties } }) => {
      const declared = membersOf(properties);
      const patterns = Object.keys(membersOf(patternProperties));
      return requiredBy(parts)
        .filter(({ name }) => !Object.hasOwn(declared, name) && !patterns.some((each) => isMatch(each, name)))
        .map(({ name, ...at }) => ({
          ...at,
          reason: `requires "${name}", which is not declared, and additionalProperties is false`,
        }));
    }),
  ];
}

/** The members that schemas require, each with its place. */
export const requiredBy = (parts: readonly SchemaNode[]) =>
  parts.flatMap(({ schema, file, pointer }) =>
    (Array.isArray(schema.required) ? schema.required : []).flatMap((name, index) =>
      typeof name === 'string' ? [{ name, file, pointer: `${pointer}/required/${index}` }] : [],
    ),
  );

/** An invalid pattern has a fault of its own. */
function isMatch(pattern: string, name: string): boolean {
  try {
    return compilePattern(pattern, 'u').test(name);
  } catch {
    return true;
  }
}

/** Members of the service that a record requires of its client. */
const ownedFaults = (record: SchemaNode, files: SchemaFiles): DeclarationFault[] =>
  requiredBy(inPlace(record, files))
    .filter(({ name }) => OWNED.has(name))
    .map(({ name, ...at }) => ({ ...at, reason: `the service sets "${name}": no body can give it` }));
