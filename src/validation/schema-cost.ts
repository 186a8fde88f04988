import { _, type Ajv2020, type CodeKeywordDefinition } from 'ajv/dist/2020.js';
import { isObject, type Json, type JsonObject } from '../json.js';
import { spend } from './work-limit.js';

/** Work to look at a character of a text, and at a member of an object; one with more than MANY members is a hash table. */
const [CHARACTER_UNITS, MEMBER_UNITS, HASHED_UNITS, MANY] = [0.2, 5, 32, 1000];
/** Work for each alternative, whose failure is an object, and for a text in a format. */
const [ALTERNATIVE_UNITS, FORMAT_UNITS] = [4, 80];
/** Work to look whether an object has a member, where no failure is built. */
const LOOKUP_UNITS = 0.25;
/** Work to set a default, besides a unit for each of its characters. */
const DEFAULT_UNITS = 20;
/** Keywords whose work depends on their entries alone, and those that look up the value. */
const BY_ENTRIES = [
  'properties',
  'required',
  'dependentRequired',
  'dependentSchemas',
  'minItems',
  'maxItems',
];
const LOOKED_UP = ['enum', 'const'];
/** Characters of the code of a validator from which on V8 does not optimize it, and how many times as long it takes then. */
const [MAX_OPTIMIZED, INTERPRETED] = [70_000, 6];

interface Factor {
  value: number;
}

/** The factor of the work of each generated function. */
const factors = new WeakMap<object, Factor>();

function factorOf(env: object): Factor {
  const known = factors.get(env) ?? { value: 1 };
  factors.set(env, known);
  return known;
}

/** The generated code of a function, by whose length its factor is set. */
export function measured(code: string, env: object): string {
  if (code.length > MAX_OPTIMIZED) factorOf(env).value = INTERPRETED;
  return code;
}

/**
 * Makes all work of a validation count. Where a schema applies to a value, it costs the entries of its keywords, and the
 * characters, items or members of the value for each keyword that may look at all of them. Each application of a schema
 * inside is one of these entries, items or members, so that no combination of keywords works without counting.
 */
export function countWork(ajv: Ajv2020): void {
  const keyword = 'x-work';
  const code: CodeKeywordDefinition['code'] = ({ gen, data, parentSchema, it }) => {
    const { entries, sizes } = costOf(parentSchema as JsonObject, it.allErrors === true, ajv);
    if (entries + sizes.string + sizes.array + sizes.object === 0) return;
    const cost = _`${entries}, ${sizes.string}, ${sizes.array}, ${sizes.object}`;
    const factor = gen.scopeValue('obj', { ref: factorOf(it.schemaEnv) });
    gen.code(_`${gen.scopeValue('func', { ref: spendOn })}(${data}, ${factor}.value, ${cost})`);
  };
  // A schema with any other keyword has this one.
  const definition = { keyword, type: [], schemaType: [], implements: Object.keys(ajv.RULES.all), code };
  ajv.RULES.rules.unshift({ rules: [{ keyword, definition }] });
}

/** Counts the work of a schema on a value. The numbers of keywords are those of `costOf`. */
export function spendOn(
  value: Json,
  factor: number,
  entries: number,
  string: number,
  array: number,
  object: number,
): void {
  let units = entries;
  if (typeof value === 'string') units += string * value.length * CHARACTER_UNITS;
  else if (Array.isArray(value)) units += array * value.length;
  else if (object > 0 && isObject(value)) units += object * membersUnits(Object.keys(value).length);
  spend(units * factor);
}

const membersUnits = (count: number): number => count * (count > MANY ? HASHED_UNITS : MEMBER_UNITS);

/** The entries of a schema's keywords, and how many of these look at the whole of a value, by its type. */
function costOf(schema: JsonObject, allErrors: boolean, { RULES }: Ajv2020) {
  let entries = 0;
  const sizes = { string: 0, array: 0, object: 0 };
  for (const [keyword, value] of Object.entries(schema)) {
    const rule = RULES.all[keyword];
    // The keywords of annotations have no code.
    if (typeof rule !== 'object' || !('code' in rule.definition || rule.definition.type.length > 0)) continue;
    const { type } = rule.definition;
    entries +=
      1 + (LOOKED_UP.includes(keyword) ? 0 : entriesOf(keyword, value) * unitsOf(keyword, allErrors));
    if (BY_ENTRIES.includes(keyword)) continue;
    for (const each of ['string', 'array', 'object'] as const) if (type.includes(each)) sizes[each]++;
  }
  for (const each of Object.values(isObject(schema.properties) ? schema.properties : {}))
    if (isObject(each) && each.default !== undefined)
      entries += DEFAULT_UNITS + JSON.stringify(each.default).length;
  return { entries: entries + (schema.format === undefined ? 0 : FORMAT_UNITS), sizes };
}

/** The work for an entry of a keyword. */
function unitsOf(keyword: string, allErrors: boolean): number {
  if (keyword === 'anyOf' || keyword === 'oneOf') return ALTERNATIVE_UNITS;
  return BY_ENTRIES.includes(keyword) && !allErrors ? LOOKUP_UNITS : 1;
}

function entriesOf(keyword: string, value: Json): number {
  if (Array.isArray(value)) return value.length;
  if (!isObject(value)) return 0;
  if (keyword === 'dependentRequired') return Object.values(value).flat().length + Object.keys(value).length;
  return Object.keys(value).length;
}
