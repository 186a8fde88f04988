import type { Resource } from '../../collection/resource.js';
import { baseIn, IDENTIFIERS, SchemaFiles, withSubschemas } from '../../declarations/schema-files.js';
import { escapeToken, isObject, type Json, type JsonObject } from '../../json.js';

/** The schemas in the folder of declarations: what `$ref` may name. */
export function schemaFiles(
  resources: readonly Resource[],
  shared: ReadonlyMap<string, object>,
): SchemaFiles {
  const own = resources.map(({ name, schema }): [string, object] => [`${name}.json`, schema]);
  return new SchemaFiles([...own, ...shared]);
}

/**
 * Puts declared schemas into the input schema of a tool, without the keywords of declarations. A client gets one document:
 * schemas that others refer to become members of its `$defs`.
 */
export class SchemaWriter {
  readonly #defs = new Map<string, Json>();

  constructor(readonly files: SchemaFiles) {}

  /** The fields of a new record, as the member `at` of the arguments. */
  record(resource: Resource, at: string): JsonObject {
    const { title: _, ...schema } = this.#declared(resource, at, (name) => isSettable(resource, name));
    const required = (schema.required as string[]).filter((name) => isSettable(resource, name));
    return { ...schema, required };
  }

  /** The schema of a merge patch (RFC 7396), in which every field is optional and null removes an optional one. */
  patch(resource: Resource, at: string): JsonObject {
    const { properties, additionalProperties, $defs } = this.#declared(
      resource,
      at,
      (name) => isSettable(resource, name) && !resource.immutable.includes(name),
    );
    return {
      type: 'object',
      minProperties: 1,
      properties: relaxed(properties as JsonObject, resource.schema.required),
      ...(additionalProperties === undefined ? {} : { additionalProperties }),
      ...($defs === undefined ? {} : { $defs }),
    };
  }

  /** The schema of a record in responses, as a document of its own. */
  whole(resource: Resource): JsonObject {
    const schema = this.#declared(resource, '#', (_, field) => field.writeOnly !== true);
    const $defs = { ...(schema.$defs as JsonObject | undefined), ...this.defs };
    return Object.keys($defs).length === 0 ? schema : { ...schema, $defs };
  }

  /** The `$defs` of the arguments; empty: none are needed. */
  get defs(): JsonObject {
    return Object.fromEntries(this.#defs);
  }

  /** The schema of a collection with the fields that `shows` accepts. */
  #declared(resource: Resource, at: string, shows: (name: string, field: JsonObject) => boolean): JsonObject {
    const { schema, file, base } = this.files.root(`${resource.name}.json`);
    const shown = Object.entries(schema.properties as JsonObject).filter(([name, field]) =>
      shows(name, isObject(field) ? field : {}),
    );
    return this.#copy({ ...schema, properties: Object.fromEntries(shown) }, { file, at, base });
  }

  #copy(schema: JsonObject, from: Source): JsonObject {
    const members = Object.entries(schema).filter(([key]) => !key.startsWith('x-') && !IDENTIFIERS.has(key));
    const base = baseIn(schema, from.base);
    const copy = withSubschemas(Object.fromEntries(members), (each) => this.#copy(each, { ...from, base }));
    const reference = schema.$ref ?? schema.$dynamicRef;
    if (typeof reference === 'string') copy.$ref = this.#reference(reference, { ...from, base });
    const to = schema['x-references'];
    return to === undefined || 'description' in copy
      ? copy
      : { ...copy, description: `The id of a record of ${to}.` };
  }

  /** A JSON Pointer into the arguments, for a reference within a file or to another. */
  #reference(reference: string, { file, at, base }: Source): string {
    const { file: named, ...found } = this.files.resolve(reference, base)!;
    const pointer = encodeURI(found.pointer).replaceAll('#', '%23');
    if (named === file) return `${at}${pointer}`;
    const target = `#/$defs/${escapeToken(named)}`;
    if (!this.#defs.has(named)) {
      // Before its own references are followed, which may lead back.
      this.#defs.set(named, true);
      const root = this.files.root(named);
      this.#defs.set(named, this.#copy(root.schema, { file: named, at: target, base: root.base }));
    }
    return `${target}${pointer}`;
  }
}

/** The file that a schema is of, the pointer to its place in the arguments, and the URI that its references are relative to. */
interface Source {
  readonly file: string;
  readonly at: string;
  readonly base: string;
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
