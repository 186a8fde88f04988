import { escapeToken, isObject, type Json } from '../json.js';
import { compilePattern } from '../validation/linear-patterns.js';
import type { SchemaNode } from './schema-files.js';
import { applying, below, partsAt } from './schema-parts.js';
import {
  ALLOWS_NONE,
  bounds,
  contradiction,
  crossed,
  highest,
  type Impossible,
  lowest,
  type Members,
  membersOf,
  type Parts,
  type Search,
} from './value-bounds.js';

/** A member that objects must have, with the place that demands it. */
export interface Required {
  readonly name: string;
  readonly node: SchemaNode;
  readonly keyword: string;
  /** Whether `required` of a part itself names it. */
  readonly isDirect: boolean;
}

/** The members of objects that obey all parts. */
class ObjectMembers {
  /** The members that each object has: required ones, those with a default, and those that depend on them. */
  readonly required: ReadonlyMap<string, Required>;

  constructor(
    readonly parts: Parts,
    readonly values: Search,
    readonly unset: Members = new Map(),
  ) {
    this.required = requiredMembers(parts);
  }

  /** Why no object obeys all parts. */
  impossible(): Impossible | undefined {
    for (const each of this.required.values()) {
      const cause = this.impossibleMember(each.name);
      if (!cause || each.keyword.startsWith('properties/')) continue;
      if (cause.kind === 'contradiction') return cause;
      const kind = each.isDirect && cause.kind === 'unset' ? 'unset' : 'contradiction';
      const { node, keyword } = each;
      return { node, keyword, reason: `requires "${each.name}", ${cause.reason}`, kind };
    }
    return this.#impossibleCount() ?? this.#impossibleRule();
  }

  /** Why no object has a member with this name. The reason goes on after the name. */
  impossibleMember(name: string): Impossible | undefined {
    const { validate } = this.values;
    const forbidding = this.parts.find((node) => isClosedTo(node, name));
    if (forbidding)
      return forbidden(
        forbidding,
        'additionalProperties',
        'which is not declared, and additionalProperties is false',
      );
    const unevaluated = unevaluatedNames(this.parts);
    if (unevaluated && !unevaluated.names.has(name))
      return forbidden(
        unevaluated.node,
        'unevaluatedProperties',
        'which is not declared, and unevaluatedProperties is false',
      );
    const naming = this.parts.find((node) =>
      partsAt(node, ['propertyNames']).some((each) => validate(each, name) !== undefined),
    );
    if (naming) return forbidden(naming, 'propertyNames', 'which propertyNames forbids');
    const keyword = this.unset.get(name);
    if (keyword)
      return {
        node: this.parts[0]!,
        keyword: '',
        reason: `which no request can set: it has ${keyword}`,
        kind: 'unset',
      };
    const schemas = this.schemasOf(name);
    const cause = schemas.length > 0 ? this.values.of(schemas) : undefined;
    if (!cause || cause.kind === 'contradiction') return cause;
    return {
      ...cause,
      reason:
        cause.reason === ALLOWS_NONE
          ? 'which no record may have: its schema is false'
          : `which ${cause.reason}`,
    };
  }

  /** The schemas that all parts have for a member. */
  schemasOf(name: string): SchemaNode[] {
    const { files } = this.values;
    return this.parts.flatMap((node) => schemasOf(node, name)).flatMap((node) => applying(node, files));
  }

  #impossibleCount(): Impossible | undefined {
    const [least, most] = [
      lowest(bounds(this.parts, 'minProperties')),
      highest(bounds(this.parts, 'maxProperties')),
    ];
    const found = crossed(least, most, 'members');
    if (found) return found;
    const { size } = this.required;
    if (most && most.value < size)
      return contradiction(most, `is less than the ${size} members that each object has: no value is valid`);
    const closed = this.parts.find(({ schema }) => isClosed(schema) && !('patternProperties' in schema));
    if (!least || !closed) return undefined;
    const names = Object.keys(membersOf(closed.schema.properties)).filter(
      (name) => !this.impossibleMember(name),
    );
    return names.length < least.value
      ? contradiction(
          least,
          `is more than the ${names.length} members that an object can have: no value is valid`,
        )
      : undefined;
  }

  /** A rule that always applies, and refuses what each object has. */
  #impossibleRule(): Impossible | undefined {
    for (const node of this.parts) {
      const { not } = node.schema;
      const isRequired = isObject(not) && Object.keys(not).length === 1 && Array.isArray(not.required);
      if (isRequired && (not.required as Json[]).every((name) => this.required.has(String(name))))
        return contradiction(
          { node, keyword: 'not' },
          'refuses members that each object has: no value is valid',
        );
      for (const name of Object.keys(membersOf(node.schema.dependentSchemas))) {
        if (!this.required.has(name)) continue;
        const own = below([node], ['dependentSchemas', name], this.values.files);
        const cause =
          own.length > 0
            ? this.values.of([...this.parts.map(withoutDependents), ...own], this.unset)
            : undefined;
        if (cause) return { ...cause, kind: 'contradiction' };
      }
    }
    return undefined;
  }
}

export const membersOfParts = (parts: Parts, values: Search, unset?: Members): ObjectMembers =>
  new ObjectMembers(parts, values, unset);

const forbidden = (node: SchemaNode, keyword: string, reason: string): Impossible => ({
  node,
  keyword,
  reason,
  kind: 'forbidden',
});

function withoutDependents(node: SchemaNode): SchemaNode {
  const { dependentSchemas: _, ...schema } = node.schema;
  return { ...node, schema };
}

const isClosed = ({ additionalProperties }: SchemaNode['schema']): boolean => additionalProperties === false;

const isClosedTo = ({ schema }: SchemaNode, name: string): boolean =>
  isClosed(schema) && !Object.hasOwn(membersOf(schema.properties), name) && !matching(schema, name).length;

/** The schemas that a part has for a member. */
function schemasOf(node: SchemaNode, name: string): SchemaNode[] {
  const { schema } = node;
  const isDeclared = Object.hasOwn(membersOf(schema.properties), name);
  const patterns = matching(schema, name);
  if (!isDeclared && patterns.length === 0) return partsAt(node, ['additionalProperties']);
  return [
    ...partsAt(node, ['properties', name]),
    ...patterns.flatMap((each) => partsAt(node, ['patternProperties', each])),
  ];
}

const matching = ({ patternProperties }: SchemaNode['schema'], name: string): string[] =>
  Object.keys(membersOf(patternProperties)).filter((each) => isMatch(each, name));

/** An invalid pattern has a fault of its own. */
function isMatch(pattern: string, name: string): boolean {
  try {
    return compilePattern(pattern, 'u').test(name);
  } catch {
    return true;
  }
}

const EVALUATING = [
  'anyOf',
  'oneOf',
  'if',
  'dependentSchemas',
  'patternProperties',
  'additionalProperties',
  '$dynamicRef',
];

/** The names of all members that `unevaluatedProperties: false` allows, if they are the declared ones alone. */
function unevaluatedNames(
  parts: Parts,
): { readonly node: SchemaNode; readonly names: ReadonlySet<string> } | undefined {
  const node = parts.find(({ schema }) => schema.unevaluatedProperties === false);
  if (!node || parts.some(({ schema }) => EVALUATING.some((keyword) => keyword in schema))) return undefined;
  return { node, names: new Set(parts.flatMap(({ schema }) => Object.keys(membersOf(schema.properties)))) };
}

function requiredMembers(parts: Parts): Map<string, Required> {
  const found = new Map<string, Required>();
  const add = (each: Required) => void (found.has(each.name) || found.set(each.name, each));
  for (const node of parts) {
    for (const { name, keyword } of namesAt('required', node.schema.required))
      add({ name, node, keyword, isDirect: true });
    for (const [name, field] of Object.entries(membersOf(node.schema.properties)))
      if (isObject(field) && field.default !== undefined)
        add({ name, node, keyword: `properties/${escapeToken(name)}/default`, isDirect: false });
  }
  // Entries that are added meanwhile are visited as well.
  for (const name of found.keys())
    for (const node of parts)
      for (const each of namesAt(
        `dependentRequired/${escapeToken(name)}`,
        membersOf(node.schema.dependentRequired)[name],
      ))
        add({ ...each, node, isDirect: false });
  return found;
}

/** The names in an array, each with its place. */
export const namesAt = (keyword: string, value: Json | undefined): { name: string; keyword: string }[] =>
  (Array.isArray(value) ? value : []).flatMap((name, at) =>
    typeof name === 'string' ? [{ name, keyword: `${keyword}/${at}` }] : [],
  );
