import type { Declaration } from '../declarations/declaration.js';
import { withSubschemas } from '../declarations/schema-files.js';
import type { JsonObject } from '../json.js';

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

/** The rules of a schema for values, without annotations. */
const rulesOf = (schema: object, referred: readonly object[] = []): string =>
  JSON.stringify([schema, ...referred].map((each) => withoutAnnotations(each as JsonObject)));

function withoutAnnotations(schema: JsonObject): JsonObject {
  const isRule = (keyword: string) =>
    !DESCRIBING.has(keyword) && (RULES.has(keyword) || !keyword.startsWith('x-'));
  const rules = Object.entries(schema).filter(([keyword]) => isRule(keyword));
  return withSubschemas(Object.fromEntries(rules), withoutAnnotations);
}
