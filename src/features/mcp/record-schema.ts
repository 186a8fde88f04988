import type { Resource } from '../../collection/resource.js';
import {
  baseIn,
  DEFINITIONS,
  IDENTIFIERS,
  type SchemaFiles,
  withSubschemas,
} from '../../declarations/schema-files.js';
import { escapeToken, isObject, type Json, type JsonObject } from '../../json.js';

/**
 * Puts declared schemas into the input schema of a tool, without the keywords of declarations. A client gets one document:
 * schemas that others refer to become members of its `$defs`, and no others do.
 */
export class SchemaWriter {
  readonly #defs = new Map<string, Json>();
  /** The record that references to the whole of its own file mean: its file, and its place in the arguments. */
  #record: { readonly file: string; readonly at: string } | undefined;

  constructor(readonly files: SchemaFiles) {}

  /** The fields of a new record, as the member `at` of the arguments. */
  record(resource: Resource, at: string): JsonObject {
    const { title: _, ...schema } = this.#declared(resource, at, (name) => isSettable(resource, name));
    return schema;
  }

  /** The schema of a merge patch (RFC 7396), in which every field is optional and null removes an optional one. */
  patch(resource: Resource, at: string): JsonObject {
    const { properties, additionalProperties } = this.#declared(
      resource,
      at,
      (name) => isSettable(resource, name) && !resource.immutable.includes(name),
    );
    return {
      type: 'object',
      minProperties: 1,
      properties: relaxed(properties as JsonObject, resource.schema.required),
      ...(additionalProperties === undefined ? {} : { additionalProperties }),
    };
  }

  /** The schema of a record in responses, as a document of its own. */
  whole(resource: Resource): JsonObject {
    const { schema, writeOnly } = resource;
    const record = this.#declared(
      resource,
      '#',
      (name, field) => field.writeOnly !== true && !writeOnly.includes(name),
    );
    const { description } = schema;
    return { ...record, ...(typeof description === 'string' ? { description } : {}), ...this.defs };
  }

  /** The member `$defs` of the arguments, if they need some. */
  get defs(): JsonObject {
    return this.#defs.size === 0 ? {} : { $defs: Object.fromEntries(this.#defs) };
  }

  /** The schema of a collection with the fields that `shows` accepts. */
  #declared(
    { name: collection }: Resource,
    at: string,
    shows: (name: string, field: JsonObject) => boolean,
  ): JsonObject {
    const { schema, file, base } = this.files.root(`${collection}.json`);
    const { properties, required, ...rules } = schema as { properties: JsonObject } & JsonObject;
    const all = Object.entries(properties).filter(([name, field]) =>
      shows(name, isObject(field) ? field : {}),
    );
    const shown = Object.fromEntries(all);
    this.#record = { file, at };
    return this.#copy(
      {
        ...rules,
        properties: shown,
        required: ((required ?? []) as string[]).filter((name) => Object.hasOwn(shown, name)),
      },
      base,
    );
  }

  #copy(schema: JsonObject, from: string): JsonObject {
    const isCopied = (key: string) => !key.startsWith('x-') && !IDENTIFIERS.has(key) && !DEFINITIONS.has(key);
    const members = Object.entries(schema).filter(([key]) => isCopied(key));
    const base = baseIn(schema, from);
    const copy = withSubschemas(Object.fromEntries(members), (each) => this.#copy(each, base));
    const reference = schema.$ref ?? schema.$dynamicRef;
    if (typeof reference === 'string') copy.$ref = this.#reference(reference, base);
    const to = schema['x-references'];
    return to === undefined || 'description' in copy
      ? copy
      : { ...copy, description: `The id of a record of ${to}.` };
  }

  /** A JSON Pointer into the arguments: to the record, or to a copy of another schema. `base`: the URI that the reference is relative to. */
  #reference(reference: string, base: string): string {
    const { file, pointer, schema, base: within } = this.files.resolve(reference, base)!;
    if (pointer === '' && file === this.#record?.file) return this.#record.at;
    const key = file + pointer;
    if (!this.#defs.has(key)) {
      // Before its own references are followed, which may lead back.
      this.#defs.set(key, true);
      this.#defs.set(key, this.#copy(schema, within));
    }
    return `#/$defs/${encodeURI(escapeToken(key)).replaceAll('#', '%23')}`;
  }
}

/** Whether a request can set a field. */
function isSettable({ readOnly, importOnly }: Resource, name: string): boolean {
  return !readOnly.includes(name) && !importOnly.includes(name);
}

/** The members of a patch: objects are patched in turn. */
function relaxed(properties: JsonObject, required: readonly string[]): JsonObject {
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => {
      if (!isObject(schema)) return [name, schema];
      const { required: inner = [], properties: members, ...rest } = schema;
      const partial = isObject(members)
        ? { ...rest, properties: relaxed(members, inner as string[]) }
        : schema;
      return [name, required.includes(name) ? partial : nullable(partial)];
    }),
  );
}

function nullable(schema: JsonObject): JsonObject {
  const { type, enum: values, const: value } = schema;
  if (type === 'null') return schema;
  if (typeof type !== 'string' || values !== undefined || value !== undefined)
    return { anyOf: [schema, { type: 'null' }] };
  return { ...schema, type: [type, 'null'] };
}
