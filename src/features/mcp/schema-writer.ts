import type { Resource } from '../../collection/resource.js';
import type { SchemaFiles } from '../../declarations/schema-files.js';
import { escapeToken, type Json, type JsonObject } from '../../json.js';
import { describedSchema, type Refer, recordSchema } from '../api-docs/described-schema.js';

/**
 * Puts the schemas of records into documents of their own, such as the arguments of a tool: schemas that others refer to become
 * members of `$defs`, and no others do.
 */
export class SchemaWriter {
  readonly #defs = new Map<string, Json>();

  constructor(readonly files: SchemaFiles) {}

  /** The schemas of the records of a collection. `at`: the JSON Pointer to the one that the document has. */
  schemasOf(resource: Resource, at: string): ReturnType<typeof recordSchema> {
    const { file } = this.files.root(`${resource.name}.json`);
    const refer: Refer = (reference, base) => {
      const node = this.files.resolve(reference, base)!;
      if (node.pointer === '' && node.file === file) return at;
      const key = node.file + node.pointer;
      if (!this.#defs.has(key)) {
        // Before its own references are followed, which may lead back.
        this.#defs.set(key, true);
        this.#defs.set(key, describedSchema(node, refer));
      }
      return `#/$defs/${encodeURI(escapeToken(key)).replaceAll('#', '%23')}`;
    };
    return recordSchema(resource, refer);
  }

  /** The member `$defs` of the document, if it needs some. */
  get defs(): JsonObject {
    return this.#defs.size === 0 ? {} : { $defs: Object.fromEntries(this.#defs) };
  }
}
