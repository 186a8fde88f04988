import { isObject, type Json, type JsonObject } from '../json.js';
import type { SchemaNode } from './schema-files.js';
import { contradiction, type Impossible, type Parts, placeOf } from './value-bounds.js';

/** The sets of values that a schema may allow: `integer` and `fraction` together are the numbers. */
const KINDS = ['null', 'boolean', 'integer', 'fraction', 'string', 'array', 'object'] as const;
export type Kind = (typeof KINDS)[number];

/** The kinds of values that the types of all parts allow, and why there is none. */
export function kindsOf(parts: Parts): { readonly kinds: ReadonlySet<Kind>; readonly cause?: Impossible } {
  let kinds: readonly Kind[] = KINDS;
  let limiting: { readonly node: SchemaNode; readonly keyword: string } | undefined;
  for (const node of parts) {
    for (const [keyword, allowed] of limitsOf(node.schema)) {
      const left = kinds.filter(allowed);
      if (left.length === 0) {
        const [at, other] = limiting ? [limiting, { node, keyword }] : [{ node, keyword }, undefined];
        const words = other ? placeOf({ ...other, value: 0 }, at) : 'the others';
        const cause = contradiction(at, `has no type in common with ${words}: no value is valid`);
        return { kinds: new Set(), cause };
      }
      if (left.length < kinds.length) limiting = { node, keyword };
      kinds = left;
    }
  }
  return { kinds: new Set(kinds) };
}

function limitsOf({ type, not }: JsonObject): [keyword: string, allowed: (kind: Kind) => boolean][] {
  const types = typesOf(type);
  const isOnlyType = isObject(not) && Object.keys(not).length === 1;
  const refused = isOnlyType ? typesOf(not.type) : undefined;
  return [
    ...(types
      ? [
          [
            'type',
            (kind: Kind) => types.includes(kind) || (isNumber(kind) && types.includes('number')),
          ] as const,
        ]
      : []),
    ...(refused
      ? [
          [
            'not',
            (kind: Kind) => !refused.includes(kind) && !(isNumber(kind) && refused.includes('number')),
          ] as const,
        ]
      : []),
  ] as [string, (kind: Kind) => boolean][];
}

const isNumber = (kind: Kind): boolean => kind === 'integer' || kind === 'fraction';

function typesOf(type: Json | undefined): readonly Json[] | undefined {
  if (typeof type === 'string') return [type];
  return Array.isArray(type) && type.length > 0 ? type : undefined;
}
