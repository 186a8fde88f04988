import type { ErrorName, SchemaName } from '../../api/doc.js';
import { type Schema, schemaRef } from '../../api/schema.js';
import { typeOf } from '../../errors/catalogue.js';
import type { ProblemType, Shape } from '../../errors/problem.js';

/** One error that an operation responds with. */
export interface ErrorRef {
  readonly status: number;
  readonly code: string;
  readonly shape: Shape;
}

/** The error of these types that a document names. Its status follows from its code, unless the name has one. */
export function errorOf(types: readonly ProblemType[], name: ErrorName): ErrorRef {
  const [code, shape, status] = typeof name === 'string' ? [name] : name;
  const type = typeOf(types, code);
  return { status: status ?? type!.status, code, shape: shape ?? type!.shapes[0]! };
}

/** The schema that a document names. */
export const schemaOf = (schema: SchemaName): Schema =>
  typeof schema === 'string' ? schemaRef(schema) : schema;

/** Words as a name of a type: `order line` and `order_lines` are OrderLine and OrderLines. */
export const typeName = (words: string): string =>
  words
    .split(/[^a-zA-Z0-9]/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('');
