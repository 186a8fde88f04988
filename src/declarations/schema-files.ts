import type { Ajv2020 } from 'ajv/dist/2020.js';
import { escapeToken, isObject, type Json, type JsonObject, unescapeToken } from '../json.js';

/** The `$id` of a schema in the folder of declarations, by its file, so that `$ref` can name other files. */
export const baseOf = (file: string): string => `https://plinth.invalid/collections/${file}`;

/** Makes the schema of a file known to a validator, which registers anchors below the top alone. */
export function addFile(ajv: Ajv2020, file: string, schema: object): void {
  const $id = baseOf(file);
  const { $anchor } = schema as JsonObject;
  ajv.addSchema({ ...schema, $id });
  if (typeof $anchor === 'string') ajv.addSchema({ $ref: $id }, `${$id}#${$anchor}`);
}

/** Keywords whose members are schemas by name. */
const SCHEMA_MAPS: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  'dependentSchemas',
  'dependencies',
  '$defs',
  'definitions',
]);
/** Keywords whose values are not schemas, whatever they look like. */
const SCHEMA_VALUES = new Set(['enum', 'const', 'default', 'examples', 'required', 'dependentRequired']);
/** Keywords whose schemas apply only where something refers to them. */
export const DEFINITIONS: ReadonlySet<string> = new Set(['$defs', 'definitions']);

/** A schema in a file. */
export interface SchemaNode {
  readonly schema: JsonObject;
  readonly file: string;
  /** A JSON Pointer into the file. */
  readonly pointer: string;
  /** The URI that its references are relative to. */
  readonly base: string;
}

/** The schemas that a schema contains, each with the keyword that contains it. */
export function* subschemas({
  schema,
  file,
  pointer,
  base,
}: SchemaNode): Generator<{ readonly keyword: string; readonly node: SchemaNode }> {
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword.startsWith('x-') || SCHEMA_VALUES.has(keyword)) continue;
    for (const [tokens, each] of schemasIn(keyword, value)) {
      const path = tokens.map((token) => `/${escapeToken(token)}`).join('');
      yield { keyword, node: { schema: each, file, pointer: pointer + path, base: baseIn(each, base) } };
    }
  }
}

/** A schema, and all that it contains. */
function* nodesIn(node: SchemaNode): Generator<SchemaNode> {
  yield node;
  for (const each of subschemas(node)) yield* nodesIn(each.node);
}

/** A copy of a schema, with another in the place of each schema that it contains. */
export function withSubschemas(schema: JsonObject, other: (schema: JsonObject) => Json): JsonObject {
  const otherOf = (value: Json): Json => (isObject(value) ? other(value) : value);
  const members = Object.entries(schema).map(([keyword, value]): [string, Json] => {
    if (keyword.startsWith('x-') || SCHEMA_VALUES.has(keyword)) return [keyword, value];
    if (Array.isArray(value)) return [keyword, value.map(otherOf)];
    if (!isObject(value) || !SCHEMA_MAPS.has(keyword)) return [keyword, otherOf(value)];
    return [keyword, Object.fromEntries(Object.entries(value).map(([name, each]) => [name, otherOf(each)]))];
  });
  return Object.fromEntries(members);
}

function schemasIn(keyword: string, value: Json): [tokens: string[], schema: JsonObject][] {
  if (!Array.isArray(value) && !isObject(value)) return [];
  if (isObject(value) && !SCHEMA_MAPS.has(keyword)) return [[[keyword], value]];
  return Object.entries(value).flatMap(([key, each]) =>
    isObject(each) ? [[[keyword, key], each] as [string[], JsonObject]] : [],
  );
}

/** The base URI within a schema, which its `$id` may change. */
export function baseIn({ $id }: JsonObject, base: string): string {
  return typeof $id === 'string' ? (parseUri($id, base)?.href ?? base) : base;
}

function parseUri(text: string, base: string): URL | undefined {
  return URL.canParse(text, base) ? new URL(text, base) : undefined;
}

/** The schemas of all files, and those that their references name. */
export class SchemaFiles {
  readonly #roots = new Map<string, SchemaNode>();
  /** Schemas with an identifier or an anchor of their own, by their URIs. */
  readonly #named = new Map<string, SchemaNode>();
  /** Schemas whose identifier or anchor a schema before has. */
  readonly repeated: SchemaNode[] = [];
  readonly #paths = new Map<string, string | undefined>();

  /** `shared`: the files that have definitions only. */
  constructor(
    collections: readonly { readonly name: string; readonly schema: object; readonly file?: string }[],
    shared: ReadonlyMap<string, object>,
  ) {
    for (const { name, file } of collections) this.#paths.set(`${name}.json`, file);
    const own = collections.map(({ name, schema }) => [`${name}.json`, schema] as const);
    for (const [file, schema] of [...own, ...shared]) {
      const root = { schema: schema as JsonObject, file, pointer: '', base: baseOf(file) };
      this.#roots.set(file, root);
      this.#named.set(root.base, root);
    }
    for (const node of this.nodes()) this.#addNamed(node);
  }

  /** The path of a file, for messages. */
  pathOf(file: string): string {
    return this.#paths.get(file) ?? file;
  }

  /** The schema of a whole file. */
  root(file: string): SchemaNode {
    return this.#roots.get(file)!;
  }

  /** The schema that a reference in this schema names; undefined: none of these files has it. */
  resolve(reference: string, base: string): SchemaNode | undefined {
    const uri = parseUri(reference, base);
    if (uri === undefined) return undefined;
    const fragment = decode(uri.hash.slice(1));
    uri.hash = '';
    const root = this.#named.get(uri.href);
    if (fragment === '') return root;
    if (!fragment.startsWith('/')) return this.#named.get(`${uri.href}#${fragment}`);
    return root && at(root, fragment);
  }

  /** The schema that the reference of a schema itself names. */
  referred({ schema: { $ref }, base }: SchemaNode): SchemaNode | undefined {
    return typeof $ref === 'string' ? this.resolve($ref, base) : undefined;
  }

  /** The schemas to which the references in a schema lead, one after the other. */
  referredFrom(start: SchemaNode): SchemaNode[] {
    const found = new Map<string, SchemaNode>();
    const visit = (node: SchemaNode): void => {
      for (const each of subschemas(node)) visit(each.node);
      const target = this.referred(node);
      const key = target && `${target.file}#${target.pointer}`;
      if (key === undefined || found.has(key)) return;
      found.set(key, target!);
      visit(target!);
    };
    visit(start);
    return [...found.values()];
  }

  /** The schemas of all files, with those that they contain. */
  *nodes(): Generator<SchemaNode> {
    for (const root of this.#roots.values()) yield* nodesIn(root);
  }

  #addNamed(node: SchemaNode): void {
    const { $id, $anchor } = node.schema;
    const add = (uri: string) => {
      if (this.#named.has(uri)) this.repeated.push(node);
      else this.#named.set(uri, node);
    };
    if (typeof $id === 'string' && node.pointer !== '') add(node.base.replace(/#$/, ''));
    if (typeof $anchor === 'string') add(`${node.base.replace(/#.*/s, '')}#${$anchor}`);
  }
}

function decode(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}

/** The schema `false` as an object. */
export const NEVER: JsonObject = { not: {} };

/** The schema at a JSON Pointer below another. */
function at(root: SchemaNode, pointer: string): SchemaNode | undefined {
  let value: Json | undefined = root.schema;
  let { base } = root;
  for (const token of pointer.slice(1).split('/')) {
    const key = unescapeToken(token);
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as JsonObject)[key];
    if (isObject(value)) base = baseIn(value, base);
  }
  const schema = value === true ? {} : value === false ? NEVER : value;
  return isObject(schema) ? { schema, file: root.file, pointer: root.pointer + pointer, base } : undefined;
}
