import { nearest } from '../errors/edit-distance.js';
import { escapeToken, isObject, type Json, type JsonObject } from '../json.js';
import type { createAjv } from '../validation/ajv.js';
import { compilePattern } from '../validation/linear-patterns.js';
import type { DeclarationFault } from './declaration.js';
import { inPlaceOf } from './keyword-faults.js';
import type { Declarations } from './read-declarations.js';
import { REFERENCES, SchemaFiles, type SchemaNode, subschemas } from './schema-files.js';

/** Members that the service sets. A body may have them, and no rule of a declaration sees them. */
export const OWNED: ReadonlySet<string> = new Set(['id', 'created_at', 'updated_at', '_version', '_links']);
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
  const visit = (node: SchemaNode): void => {
    if (seen.has(node.schema)) return;
    seen.add(node.schema);
    const found = [
      ...known.faultsOf(node),
      ...referenceFaults(node, files),
      ...patternFaults(node),
      ...ignoredFaults(node),
    ];
    for (const { file, pointer, reason } of found)
      faults.set(`${file}#${pointer}`, { file: paths.get(file) ?? file, pointer, reason });
    for (const { keyword, node: each } of subschemas(node)) if (known.hasKeyword(keyword)) visit(each);
    for (const { node: target } of files.referred(node)) visit(target);
  };
  for (const { name } of collections) {
    const record = files.root(`${name}.json`);
    visit(record);
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

function ignoredFaults({ schema, file, pointer }: SchemaNode): DeclarationFault[] {
  const isAny = schema.minContains === 0 && 'contains' in schema && !('maxContains' in schema);
  const reason = 'contains has no effect with minContains 0 and without maxContains';
  const idle = isAny ? [{ file, pointer: `${pointer}/minContains`, reason }] : [];
  const lonely = Object.entries(COMPANIONS)
    .filter(([keyword, others]) => keyword in schema && !others.some((other) => other in schema))
    .map(([keyword, others]) => ({
      file,
      pointer: `${pointer}/${keyword}`,
      reason: `has no effect without ${others.join(' or ')}`,
    }));
  return [...idle, ...lonely];
}

/** The members that schemas require, each with its place. */
export const requiredBy = (parts: readonly SchemaNode[]) =>
  parts.flatMap(({ schema, file, pointer }) =>
    (Array.isArray(schema.required) ? schema.required : []).flatMap((name, index) =>
      typeof name === 'string' ? [{ name, file, pointer: `${pointer}/required/${index}` }] : [],
    ),
  );

/** Members of the service about which the schema of a record has rules: no body has them when it is validated. */
const ownedFaults = (record: SchemaNode, files: SchemaFiles): DeclarationFault[] =>
  ofRecord(record, files).flatMap(({ schema, file, pointer }) =>
    OF_MEMBERS.flatMap(([keyword, namesIn]) =>
      namesIn(schema[keyword])
        .filter(([, name]) => OWNED.has(name))
        .map(([at, name]) => ({
          file,
          pointer: `${pointer}/${keyword}${at}`,
          reason: `the service sets "${name}": no body can give it`,
        })),
    ),
  );

type Names = readonly (readonly [at: string, name: string])[];

const listed = (value: Json | undefined): Names =>
  Array.isArray(value) ? value.map((name, at) => [`/${at}`, String(name)] as const) : [];
const named = (value: Json | undefined): Names =>
  Object.keys(membersOf(value)).map((name) => [`/${escapeToken(name)}`, name] as const);

/** Keywords that name members. */
const OF_MEMBERS: readonly (readonly [keyword: string, names: (value: Json | undefined) => Names])[] = [
  ['required', listed],
  ['dependentSchemas', named],
  [
    'dependentRequired',
    (value) => [
      ...named(value),
      ...Object.entries(membersOf(value)).flatMap(([name, names]) =>
        listed(names).map(([at, each]) => [`/${escapeToken(name)}${at}`, each] as const),
      ),
    ],
  ],
];

/** The schemas that apply to a record, if only sometimes. */
function ofRecord(node: SchemaNode, files: SchemaFiles, seen = new Set<JsonObject>()): SchemaNode[] {
  if (seen.has(node.schema)) return [];
  seen.add(node.schema);
  const others = inPlaceOf(node, files).filter(({ keyword }) => keyword !== 'not');
  return [node, ...others.flatMap((each) => ofRecord(each.node, files, seen))];
}
