import { createHash } from 'node:crypto';
import type { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import QuickLRU from 'quick-lru';
import { isObject, type Json, type JsonObject } from '../../json.js';
import { turn } from '../../limits/turn.js';
import { createAjv } from '../../validation/ajv.js';

/** Levels of a schema that an example has. */
const MAX_DEPTH = 6;

/** Whether the examples of schemas are valid, by the texts that decide it. Documents of other callers have the same schemas. */
const validity = new QuickLRU<string, boolean>({ maxSize: 2000 });

/** The document with an example of each schema for which a valid one is found. */
export async function withExamples(document: JsonObject): Promise<JsonObject> {
  const components = document.components as JsonObject & { schemas: Record<string, JsonObject> };
  const check = checkOf(components);
  const texts = Object.entries(components.schemas).map(([name, schema]) => [name, JSON.stringify(schema)]);
  const used = usedBy(new Map(texts as [string, string][]));
  const schemas: [string, JsonObject][] = [];
  for (const [name, schema] of Object.entries(components.schemas)) {
    await turn();
    const example = exampleOf(schema, document, 0);
    const key = createHash('sha256').update(used(name)).digest('base64');
    const isValid = validity.get(key) ?? check(name, example);
    validity.set(key, isValid);
    schemas.push([name, isValid ? { ...schema, examples: [example] } : schema]);
  }
  await turn();
  return { ...document, components: { ...components, schemas: Object.fromEntries(schemas) } };
}

/** Checks a value by a schema of a document. */
function checkOf(components: JsonObject): (name: string, value: Json) => boolean {
  let made: Ajv2020 | undefined;
  return (name, value) => {
    // Copies of declared schemas have their defaults also where no validator applies them.
    made ??= createAjv({ formats: formats.default, isStrict: false, allErrors: false }).addSchema(
      { $id: 'document', components: components as never },
      'document',
    );
    const validate = made.getSchema(`document#/components/schemas/${name}`);
    return validate?.(structuredClone(value)) === true;
  };
}

/** The texts of a schema and of all that it refers to. */
function usedBy(texts: ReadonlyMap<string, string>): (name: string) => string {
  const named = new Map<string, string[]>();
  for (const [name, text] of texts)
    named.set(
      name,
      [...text.matchAll(/"#\/components\/schemas\/([^"/]+)/g)].map(([, other]) => other!),
    );
  return (name) => {
    const used = new Set([name]);
    for (const each of used) for (const other of named.get(each) ?? []) used.add(other);
    return [...used].map((each) => `${each} ${texts.get(each)}\n`).join('');
  };
}

const FORMATS: Readonly<Record<string, string>> = {
  uuid: '0198c0de-0000-7000-8000-000000000000',
  'date-time': '2026-01-31T12:00:00.000Z',
  date: '2026-01-31',
  time: '12:00:00Z',
  email: 'ann@example.org',
  uri: 'https://example.org/',
  hostname: 'example.org',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
};

/** A value of a schema; it may be invalid, for example where there is a pattern. */
function exampleOf(schema: Json | undefined, document: JsonObject, depth: number): Json {
  if (!isObject(schema) || depth > MAX_DEPTH) return {};
  const { $ref, examples, enum: values, const: only, anyOf, oneOf, allOf } = schema;
  if (typeof $ref === 'string') return exampleOf(resolve($ref, document), document, depth);
  if (Array.isArray(examples) && examples.length > 0) return examples[0]!;
  if (only !== undefined) return only;
  if (schema.default !== undefined) return schema.default;
  if (Array.isArray(values)) return values[0]!;
  const [first] = (anyOf ?? oneOf ?? []) as Json[];
  if (first !== undefined) return exampleOf(first, document, depth);
  if (Array.isArray(allOf)) {
    const { allOf: _, ...own } = schema;
    const parts = [...allOf, own];
    return parts.map((part) => exampleOf(part, document, depth)).reduce(merged, {});
  }
  return ofType(schema, document, depth);
}

/** Members of both; those of nested objects as well. */
function merged(a: Json, b: Json): Json {
  if (!isObject(a) || !isObject(b)) return isObject(a) ? a : b;
  const both = Object.entries(b).map(([name, value]) => [
    name,
    Object.hasOwn(a, name) ? merged(a[name]!, value) : value,
  ]);
  return { ...a, ...Object.fromEntries(both) };
}

function ofType(schema: JsonObject, document: JsonObject, depth: number): Json {
  const { type, format, minLength, minimum, exclusiveMinimum, items, properties, required } = schema;
  const name = Array.isArray(type) ? type[0] : type;
  if (name === 'string') return FORMATS[String(format)] ?? 'text'.padEnd(Number(minLength ?? 0), '.');
  if (name === 'integer' || name === 'number') return Number(minimum ?? Number(exclusiveMinimum ?? 0) + 1);
  if (name === 'boolean') return true;
  if (name === 'array') return [exampleOf(items, document, depth + 1)];
  if (!isObject(properties)) return {};
  const needed = new Set(Array.isArray(required) ? required : []);
  const isPossible = (each: string) => !isObject(properties[each]) || properties[each].not === undefined;
  const shown = Object.keys(properties).filter(
    (each) => needed.has(each) || (depth === 0 && isPossible(each)),
  );
  return Object.fromEntries(shown.map((each) => [each, exampleOf(properties[each], document, depth + 1)]));
}

function resolve(reference: string, document: JsonObject): Json | undefined {
  const steps = reference.slice(2).split('/');
  return steps.reduce<Json | undefined>(
    (value, step) => (isObject(value) ? value[step] : undefined),
    document,
  );
}
