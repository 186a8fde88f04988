import { knownScopes } from '../auth/user-scopes.js';
import type { Resource } from '../collection/resource.js';
import { nearest } from '../errors/edit-distance.js';
import { escapeToken, type JsonObject } from '../json.js';
import type { Condition } from '../list/condition.js';
import { type Policy, policyOf } from '../policy/policy.js';
import { OWNED } from '../validation/validation.js';
import type { DeclarationFault } from './declaration.js';
import type { Declarations } from './read-declarations.js';
import { resourcesWithoutRefs } from './resource-of.js';
import { faultsAt, type Rule, rule } from './rule.js';

type Warning = readonly [collection: string, pointer: string, reason: string];

/** Names that no field has, where records may have further fields. */
const NAME_RULES: readonly Rule<{ readonly schema: JsonObject; readonly fields: readonly string[] }>[] = [
  rule(
    ['/required/*', '/x-collection/access/*/fields/*'],
    ({ fields }, name) => `no field ${name} is declared${nearest(String(name), fields)}`,
    ({ fields }, name) => ![...fields, ...OWNED].includes(name),
  ),
];

/** Warnings about names and permissions of valid declarations that their author may not expect. */
export function declarationWarnings({ collections }: Declarations): DeclarationFault[] {
  const resources = resourcesWithoutRefs(collections);
  const policies = resources.filter(({ hasRules }) => hasRules).map((each) => policyOf(each, resources));
  const scopes = knownScopes(resources.map((each) => ({ ...each, grants: [] })));
  const warnings: Warning[] = [
    ...collections.flatMap(({ name, schema }) => {
      const place = { schema: schema as unknown as JsonObject, fields: Object.keys(schema.properties) };
      return [...faultsAt(place, NAME_RULES)].map((each): Warning => [name, each.pointer, each.reason]);
    }),
    ...policies.flatMap(({ resource: { name }, grants }) =>
      grants.flatMap(({ scope, place }): Warning[] => {
        const warning = scope === undefined ? undefined : scopeWarning(scope, scopes);
        return warning === undefined ? [] : [[name, `/x-collection/access/${place}/scope`, warning]];
      }),
    ),
    ...escalations(policies, resources),
  ];
  const files = new Map(collections.map(({ name, file }) => [name, file]));
  return warnings.map(([name, pointer, reason]) => ({ file: files.get(name)!, pointer, reason }));
}

function scopeWarning(scope: string, known: readonly string[]): string | undefined {
  if (known.includes(scope)) return undefined;
  const near = nearest(scope, known);
  return near === '' && !/:(read|write)$/.test(scope)
    ? undefined
    : `no collection has the scope ${scope}${near}`;
}

/** The fields and records on which rules depend, and which callers may write by `self` or by a grant about their own record. */
function* escalations(policies: readonly Policy[], resources: readonly Resource[]): Generator<Warning> {
  const callers = resources.find(({ owner }) => owner);
  const ofCallers = policies.find(({ resource }) => resource === callers);
  const conditions = policies.flatMap(({ grants }) => grants.flatMap((grant) => grant.conditions));
  for (const each of new Set(dependencies(conditions)))
    if (typeof each !== 'string') {
      const { name, owner, callerField, hasRules } = each;
      const reason =
        'access rules of other collections depend on these records, which callers create themselves with the scope self: write access rules for them';
      if (callerField !== undefined && !owner && !hasRules) yield [name, '/x-collection/nested', reason];
    } else if (callers && !callers.readOnly.includes(each) && isOwnWritable(each, callers, ofCallers))
      yield [
        callers.name,
        `/properties/${escapeToken(each)}`,
        `access rules compare $caller.${each}, which callers may change themselves: limit it by fields of a grant, readOnly or x-set`,
      ];
}

function isOwnWritable(field: string, callers: Resource, policy: Policy | undefined): boolean {
  if (!policy) return true;
  return policy.grants.some(
    ({ verbs, conditions, fields, scope }) =>
      verbs.has('update') &&
      scope === undefined &&
      (fields?.includes(field) ?? Object.hasOwn(callers.schema.properties, field)) &&
      conditions.every(
        (each) => each.kind === 'comparison' && each.field === 'id' && each.symbol?.kind === 'subject',
      ),
  );
}

/** The fields of the caller's own record with which conditions compare, and the collections over which they lead. */
function* dependencies(conditions: readonly Condition[]): Generator<string | Resource> {
  for (const condition of conditions)
    if (condition.kind === 'comparison') {
      if (condition.symbol?.kind === 'user') yield condition.symbol.name;
    } else {
      if (condition.kind === 'relation' && condition.own === undefined) yield condition.other;
      yield* dependencies(condition.conditions);
    }
}
