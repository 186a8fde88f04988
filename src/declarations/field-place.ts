import type { JsonObject } from '../json.js';
import type { DeclaredField, DeclaredSchema } from './declaration.js';
import { columnOf, type DeclaredReference, declaredReference, hasColumn } from './declared-column.js';

/** A field of a collection. Its schema has the keywords that `$ref` and `allOf` bring. */
export interface FieldPlace {
  readonly name: string;
  readonly field: DeclaredField;
  readonly schema: JsonObject;
  readonly record: DeclaredSchema;
  readonly isRequired: boolean;
  readonly column: ReturnType<typeof columnOf> | undefined;
  readonly reference: DeclaredReference | undefined;
  /** The field before that has the same column. */
  readonly twin: string | undefined;
  /** The names of all collections. */
  readonly collections: readonly string[];
}

/** The fields of a record, in their order. */
export function* fieldPlaces(record: DeclaredSchema, collections: readonly string[]): Generator<FieldPlace> {
  const columns = new Map<string, string>();
  for (const [name, field] of Object.entries(record.properties)) {
    const column = hasColumn(field) ? columnOf(name, field) : undefined;
    const columnName = column && 'name' in column ? column.name : '';
    yield {
      name,
      field,
      schema: field as JsonObject,
      record,
      isRequired: record.required?.includes(name) ?? false,
      column,
      reference: declaredReference(field),
      twin: columns.get(columnName),
      collections,
    };
    if (columnName !== '') columns.set(columnName, name);
  }
}
