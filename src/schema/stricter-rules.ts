import type { Declaration } from '../declarations/declaration.js';
import { SCHEMA_MAPS, SCHEMA_VALUES } from '../declarations/schema-files.js';
import { isObject, type Json, type JsonObject } from '../json.js';

/** The text of a declaration as it is recorded when it has been applied: its schema, and those that it refers to. */
export const appliedText = ({ schema, referred }: Declaration): string =>
  JSON.stringify(referred === undefined ? schema : { ...schema, [REFERRED]: referred });

const REFERRED = 'x-plinth-referred';

/** Whether records that were valid may violate the declaration now. */
export function isStricter(declaration: Declaration, applied: string | undefined): boolean {
  if (applied === undefined) return false;
  const former = JSON.parse(applied) as Declaration['schema'];
  const referred = former[REFERRED] as readonly object[] | undefined;
  const keysOf = ({ 'x-collection': options }: Declaration['schema']) =>
    JSON.stringify(options?.unique ?? []);
  return (
    rulesOf(declaration.schema, declaration.referred) !== rulesOf(former, referred) ||
    keysOf(declaration.schema) !== keysOf(former)
  );
}

/** The rules of a schema for values, without annotations. */
const rulesOf = (schema: object, referred: readonly object[] = []): string =>
  JSON.stringify([schema, ...referred].map((each) => withoutDescription(each as JsonObject)));

const DESCRIBING: ReadonlySet<string> = new Set([
  'title',
  'description',
  '$schema',
  '$comment',
  'examples',
  'default',
]);

/** Keywords of declarations that stored values may violate: an index limits their length. */
const RULES: ReadonlySet<string> = new Set(['x-references', 'x-unique', 'x-index', 'x-normalize']);

function withoutDescription(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(withoutDescription);
  if (!isObject(schema)) return schema;
  const rules = Object.entries(schema).filter(
    ([keyword]) => !DESCRIBING.has(keyword) && (RULES.has(keyword) || !keyword.startsWith('x-')),
  );
  return rules.map(([keyword, value]) => [keyword, rulesIn(keyword, value)]);
}

/** The value of a keyword: the members of some are named by the declaration, whatever they are called. */
function rulesIn(keyword: string, value: Json): Json {
  if (SCHEMA_VALUES.has(keyword)) return value;
  if (!SCHEMA_MAPS.has(keyword) || !isObject(value)) return withoutDescription(value);
  return Object.entries(value).map(([name, schema]) => [name, withoutDescription(schema)]);
}
