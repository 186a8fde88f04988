import { escapeToken, isObject, type JsonObject } from '../json.js';
import { isLinear } from '../validation/linear-patterns.js';
import type { DeclarationFault } from './declaration.js';
import type { Declarations } from './read-declarations.js';
import { SchemaFiles, type SchemaNode, subschemas } from './schema-files.js';

/** Every pattern that does not obviously take linear time. A validation ends with 400 when its patterns take too long. */
export function slowPatterns({ collections, shared }: Declarations): DeclarationFault[] {
  const own = collections.map(({ name, schema }): [string, object] => [`${name}.json`, schema]);
  const paths = new Map(collections.map(({ name, file }) => [`${name}.json`, file]));
  const files = new SchemaFiles([...own, ...shared]);
  return [...own, ...shared].flatMap(([name]) =>
    [...patternsIn(files.root(name))]
      .filter(({ pattern }) => !isLinear(pattern))
      .map(({ pointer, pattern }) => ({
        file: paths.get(name) ?? name,
        pointer,
        reason: `the pattern ${JSON.stringify(pattern)} may not take linear time: all such patterns of a validation together have 50 ms of the processor, and then the body is 400`,
      })),
  );
}

interface Pattern {
  readonly pointer: string;
  readonly pattern: string;
}

function* patternsIn(node: SchemaNode): Generator<Pattern> {
  const { schema, pointer } = node;
  if (typeof schema.pattern === 'string') yield { pointer: `${pointer}/pattern`, pattern: schema.pattern };
  for (const pattern of namesIn(schema, 'patternProperties'))
    yield { pointer: `${pointer}/patternProperties/${escapeToken(pattern)}`, pattern };
  for (const each of subschemas(node)) yield* patternsIn(each.node);
}

function namesIn(schema: JsonObject, keyword: string): string[] {
  const value = schema[keyword];
  return isObject(value) ? Object.keys(value) : [];
}
