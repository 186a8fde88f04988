import { isDeepStrictEqual } from 'node:util';
import { isObject, type Json, type JsonObject } from '../json.js';
import { parseUuid } from '../uuid.js';
import { impossibleItems } from './impossible-items.js';
import { membersOfParts } from './impossible-members.js';
import { NEVER, type SchemaFiles, type SchemaNode } from './schema-files.js';
import { applying, partsAt } from './schema-parts.js';
import {
  ALLOWS_NONE,
  contradiction,
  type Impossible,
  impossibleNumber,
  impossibleText,
  type Members,
  type Parts,
  type Search,
  type Validate,
} from './value-bounds.js';
import { type Kind, kindsOf } from './value-kinds.js';

/** Schemas that are compared for one schema, and how deep they may be in each other, before the search gives up. */
const MAX_STEPS = 5000;
const MAX_DEPTH = 60;
/** Alternatives of which each is combined with what applies beside it. */
const ALTERNATIVES = ['anyOf', 'oneOf'] as const;

/** Finds schemas that no value obeys. It proves that there is none, or knows nothing: a valid schema is never found. */
export class ImpossibleValues implements Search {
  readonly #open = new Set<string>();
  #steps = 0;

  constructor(
    readonly files: SchemaFiles,
    readonly validate: Validate,
  ) {}

  /** Why no value obeys all parts. `unset`: the fields of the record that no request can set, with the keyword that says so. */
  of(given: Parts, unset?: Members): Impossible | undefined {
    if (this.#open.size === 0) this.#steps = 0;
    if (this.#steps++ > MAX_STEPS || this.#open.size > MAX_DEPTH) return undefined;
    const byKey = new Map(given.map((part) => [keyOf(part), part]));
    const parts = [...byKey.values()];
    const key = [...byKey.keys()].join(' ');
    if (this.#open.has(key))
      return { node: parts[0]!, keyword: '', reason: 'contains another one without end', kind: 'forbidden' };
    this.#open.add(key);
    try {
      return this.#reason(parts, unset);
    } finally {
      this.#open.delete(key);
    }
  }

  /** Why no value of some kind obeys all parts, for each kind that they allow. */
  conflicts(parts: Parts, unset?: Members): ReadonlyMap<Kind, Impossible> {
    const { kinds } = kindsOf(parts);
    const found = new Map<Kind, Impossible>();
    const add = (kind: Kind, reason: () => Impossible | undefined) => {
      const impossible = kinds.has(kind) ? reason() : undefined;
      if (impossible) found.set(kind, impossible);
    };
    add('integer', () => impossibleNumber(parts, !kinds.has('fraction')));
    add('fraction', () => impossibleNumber(parts, false));
    add('string', () => impossibleText(parts));
    add('array', () => impossibleItems(parts, this));
    add('object', () => membersOfParts(parts, this, unset).impossible());
    return found;
  }

  #reason(parts: Parts, unset?: Members): Impossible | undefined {
    const refused = parts.find(({ schema }) => isRefusal(schema.not));
    if (refused) {
      const keyword = refused.schema === NEVER ? '' : 'not';
      return { node: refused, keyword, reason: ALLOWS_NONE, kind: 'forbidden' };
    }
    const { kinds, cause } = kindsOf(parts);
    if (cause) return cause;
    const values = fixedValues(parts);
    if (values) return this.#impossibleValue(values, parts);
    const conflicts = this.conflicts(parts, unset);
    if ([...kinds].every((kind) => conflicts.has(kind))) return [...conflicts.values()][0];
    for (const keyword of ALTERNATIVES)
      for (const part of parts) {
        const found = this.#impossibleAlternatives(part, keyword, parts, unset);
        if (found) return found;
      }
    return undefined;
  }

  #impossibleValue({ node, keyword, values }: FixedValues, parts: Parts): Impossible | undefined {
    if (values.length === 0)
      return contradiction({ node, keyword }, 'has no value that the other rules allow: no value is valid');
    const isReference = parts.some(({ schema }) => schema['x-references'] !== undefined);
    let reason: string | undefined;
    for (const value of values) {
      const failure =
        isReference && parseUuid(String(value)) === undefined && value !== null
          ? 'must be the id of a record'
          : firstFailure(parts, (part) => this.validate(part, value));
      if (failure === undefined) return undefined;
      reason ??= failure;
    }
    const subject =
      values.length === 1 ? 'violates the other rules' : 'has only values that violate the other rules';
    return contradiction({ node, keyword }, `${subject}: ${reason}`);
  }

  #impossibleAlternatives(
    part: SchemaNode,
    keyword: (typeof ALTERNATIVES)[number],
    parts: Parts,
    unset?: Members,
  ): Impossible | undefined {
    const schemas = part.schema[keyword];
    if (!Array.isArray(schemas) || schemas.length === 0) return undefined;
    if (keyword === 'oneOf' && schemas.filter(isAlways).length > 1)
      return contradiction(
        { node: part, keyword },
        'has more than one schema that always holds: no value is valid',
      );
    const others = parts.map(withoutAlternatives);
    const causes: Impossible[] = [];
    for (const [at, schema] of schemas.entries()) {
      const isTwice =
        keyword === 'oneOf' &&
        schemas.some((other, index) => index !== at && isDeepStrictEqual(other, schema));
      const branch = partsAt(part, [keyword, String(at)]).flatMap((each) => applying(each, this.files));
      const cause = isTwice
        ? { ...REPEATED, node: part, keyword: `${keyword}/${at}` }
        : this.of([...others, ...branch], unset);
      if (!cause) return undefined;
      causes.push(cause);
    }
    const { node, keyword: at, reason } = causes[0]!;
    const file = node.file === part.file ? '' : `${node.file}#`;
    const where = `${file}${node.pointer}${at && `/${at}`}`;
    return contradiction({ node: part, keyword }, `has no schema that can hold: ${where} ${reason}`);
  }
}

const REPEATED = { reason: 'is there twice: it never holds alone', kind: 'contradiction' } as const;

const isAlways = (schema: Json): boolean =>
  schema === true || (isObject(schema) && Object.keys(schema).length === 0);
const isRefusal = (schema: Json | undefined): boolean => schema !== undefined && isAlways(schema);

function withoutAlternatives(node: SchemaNode): SchemaNode {
  if (!ALTERNATIVES.some((keyword) => keyword in node.schema)) return node;
  const { anyOf: _, oneOf: __, ...schema } = node.schema;
  return { ...node, schema: schema as JsonObject };
}

const keyOf = ({ file, pointer, schema }: SchemaNode): string =>
  `${file}#${pointer}${ALTERNATIVES.some((keyword) => keyword in schema) ? '?' : ''}`;

function firstFailure(parts: Parts, failure: (part: SchemaNode) => string | undefined): string | undefined {
  for (const part of parts) {
    const found = failure(part);
    if (found !== undefined) return found;
  }
  return undefined;
}

interface FixedValues {
  readonly node: SchemaNode;
  readonly keyword: string;
  readonly values: readonly Json[];
}

/** The values that `const` and `enum` of all parts have in common, with the last of these keywords that left fewer. */
function fixedValues(parts: Parts): FixedValues | undefined {
  let found: FixedValues | undefined;
  for (const node of parts)
    for (const keyword of ['enum', 'const']) {
      if (!Object.hasOwn(node.schema, keyword)) continue;
      const value = node.schema[keyword]!;
      const given = keyword === 'const' ? [value] : Array.isArray(value) ? value : undefined;
      if (!given || given.length === 0) continue;
      const values = found
        ? found.values.filter((each) => given.some((other) => isDeepStrictEqual(each, other)))
        : given;
      found =
        found && values.length === found.values.length && values.length < given.length
          ? found
          : { node, keyword, values };
    }
  return found;
}
