import type { Json, JsonObject } from '../json.js';
import { lengthsOf } from '../validation/linear-patterns.js';
import type { SchemaFiles, SchemaNode } from './schema-files.js';

/** Why no value is valid, with the place of the cause. */
export interface Impossible {
  readonly node: SchemaNode;
  /** The rest of the JSON Pointer to the cause, without the first slash. */
  readonly keyword: string;
  readonly reason: string;
  /**
   * `contradiction`: rules that exclude each other. `forbidden`: the schema is meant to have no value. `unset`: a field that no
   * request can set.
   */
  readonly kind: 'contradiction' | 'forbidden' | 'unset';
}

/** The reason of a schema that is `false`, or that refuses everything. */
export const ALLOWS_NONE = 'allows no value';

/** Members by name, with the keyword because of which no request can set them. */
export type Members = ReadonlyMap<string, string>;

/** Why a value violates a schema; undefined: it does not. */
export type Validate = (node: SchemaNode, value: Json) => string | undefined;

/** Finds schemas that no value obeys. */
export interface Search {
  readonly files: SchemaFiles;
  readonly validate: Validate;
  of(parts: Parts, unset?: Members): Impossible | undefined;
}

/** Schemas that all apply to a value. */
export type Parts = readonly SchemaNode[];

/** A limit of a number, a length or a count, with the keyword that sets it. */
export interface Bound {
  readonly value: number;
  readonly isStrict?: boolean;
  readonly node: SchemaNode;
  readonly keyword: string;
  /** The limit in words, if the keyword does not name it. */
  readonly words?: string;
}

/** Characters that texts of a format have, at least and at most. */
const FORMAT_LENGTHS: Readonly<Record<string, readonly [min: number, max: number]>> = {
  date: [10, 10],
  'date-time': [20, Number.POSITIVE_INFINITY],
  time: [9, Number.POSITIVE_INFINITY],
  uuid: [36, 45],
  ipv4: [7, 15],
};

const NO_VALUE = 'no value is valid';

/** Why no number has these parts. */
export function impossibleNumber(parts: Parts, isInteger: boolean): Impossible | undefined {
  const low = lowest([...bounds(parts, 'minimum'), ...strictBounds(parts, 'exclusiveMinimum')]);
  const high = highest([...bounds(parts, 'maximum'), ...strictBounds(parts, 'exclusiveMaximum')]);
  if (!low || !high) return undefined;
  const place = placeOf(high, low);
  if (low.value > high.value) return contradiction(low, `is more than ${place}: ${NO_VALUE}`);
  if (low.value === high.value && (low.isStrict || high.isStrict))
    return contradiction(low, `and ${place} leave no number: ${NO_VALUE}`);
  if (isInteger && firstInteger(low) > -firstInteger({ ...high, value: -high.value }))
    return contradiction(low, `and ${place} have no integer between them: ${NO_VALUE}`);
  const steps = bounds(parts, 'multipleOf').filter(({ value }) => value > 0);
  const step = steps.find((each) => !hasMultiple(each.value, low, high));
  return step && contradiction(step, `has no multiple from ${low.value} to ${high.value}: ${NO_VALUE}`);
}

const firstInteger = ({ value, isStrict }: Bound): number =>
  isStrict && Number.isInteger(value) ? value + 1 : Math.ceil(value);

/** Whether a multiple may be between two bounds. Decimals are compared roughly, integers exactly. */
function hasMultiple(step: number, low: Bound, high: Bound): boolean {
  const isExact = [step, low.value, high.value].every(Number.isSafeInteger);
  const slack = isExact ? 0 : 1e-9 * Math.max(1, Math.abs(low.value), Math.abs(high.value));
  const first = Math.floor(low.value / step) - 1;
  if (high.value / step - first > 5) return true;
  return Array.from({ length: 8 }, (_, at) => (first + at) * step).some((value) => {
    const isAbove = value > low.value - slack || (value === low.value && !low.isStrict);
    return isAbove && (value < high.value + slack || (value === high.value && !high.isStrict));
  });
}

/** Why no text has these parts. */
export function impossibleText(parts: Parts): Impossible | undefined {
  const formats = parts.flatMap((node) => {
    const lengths = member(FORMAT_LENGTHS, node.schema.format);
    return lengths ? [{ node, lengths, keyword: 'format', words: `format "${node.schema.format}"` }] : [];
  });
  const patterns = parts.flatMap((node) => {
    const lengths = typeof node.schema.pattern === 'string' ? lengthsOf(node.schema.pattern) : undefined;
    return lengths ? [{ node, lengths, keyword: 'pattern', words: 'pattern' }] : [];
  });
  const fixed = [...formats, ...patterns];
  const [min, max] = [0, 1].map((at) => fixed.map((each) => ({ ...each, value: each.lengths[at]! })));
  const low = lowest([...min!, ...bounds(parts, 'minLength')]);
  const high = highest([...max!, ...bounds(parts, 'maxLength')]);
  return crossed(low, high, 'characters');
}

/** Why two bounds leave no length or count. */
export function crossed(
  low: Bound | undefined,
  high: Bound | undefined,
  what: string,
): Impossible | undefined {
  if (!low || !high || low.value <= high.value) return undefined;
  if (low.words === undefined && high.words === undefined)
    return contradiction(low, `is more than ${placeOf(high, low)}: ${NO_VALUE}`);
  const [at, other] = low.words === undefined ? [low, high] : [high, low];
  const limit = `${other.value} ${what} of ${placeOf(other, at)}`;
  return contradiction(at, `is ${at === low ? 'more' : 'less'} than the ${limit}: ${NO_VALUE}`);
}

export const contradiction = (
  { node, keyword }: Pick<Bound, 'node' | 'keyword'>,
  reason: string,
): Impossible => ({
  node,
  keyword,
  reason,
  kind: 'contradiction',
});

/** A bound in words, with its place if that is not beside another one. */
export function placeOf({ node, keyword, words = keyword }: Bound, beside: Pick<Bound, 'node'>): string {
  const isBeside = node.file === beside.node.file && node.pointer === beside.node.pointer;
  return isBeside ? words : `${words} in ${node.file}#${node.pointer}`;
}

/** The values of a keyword that is a number. */
export const bounds = (parts: Parts, keyword: string): Bound[] =>
  parts.flatMap((node) => {
    const value = node.schema[keyword];
    return typeof value === 'number' ? [{ value, node, keyword }] : [];
  });

const strictBounds = (parts: Parts, keyword: string): Bound[] =>
  bounds(parts, keyword).map((each) => ({ ...each, isStrict: true }));

/** The strongest lower bound. Of equal ones the last: a field has copies of what it refers to. */
export const lowest = (all: readonly Bound[]): Bound | undefined => strongest(all, (a, b) => a >= b);

/** The strongest upper bound. */
export const highest = (all: readonly Bound[]): Bound | undefined => strongest(all, (a, b) => a <= b);

function strongest(all: readonly Bound[], isStronger: (a: number, b: number) => boolean): Bound | undefined {
  let found: Bound | undefined;
  for (const each of all) {
    if (found && !isStronger(each.value, found.value)) continue;
    if (found?.value === each.value && found.isStrict && !each.isStrict) continue;
    found = each;
  }
  return found;
}

const member = <T>(table: Readonly<Record<string, T>>, name: Json | undefined): T | undefined =>
  typeof name === 'string' && Object.hasOwn(table, name) ? table[name] : undefined;

/** The members of a keyword that is an object. */
export const membersOf = (value: Json | undefined): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
