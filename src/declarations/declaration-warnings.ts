import { knownScopes } from '../auth/user-scopes.js';
import type { Resource } from '../collection/resource.js';
import { nearest } from '../errors/edit-distance.js';
import { Problem } from '../errors/problem.js';
import { escapeToken, type JsonObject } from '../json.js';
import type { Condition } from '../list/condition.js';
import { type Grant, isForAnyone, type Policy, policyOf } from '../policy/policy.js';
import { implyAll } from '../policy/row-filter.js';
import { builtInFiles } from './built-in.js';
import type { DeclarationFault } from './declaration.js';
import type { Declarations } from './read-declarations.js';
import { resourcesWithoutRefs } from './resource-of.js';
import { faultsAt, type Rule, rule } from './rule.js';
import { OWNED } from './schema-rules.js';

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
  const policies = resources.flatMap((resource) =>
    resource.hasRules ? (policyOrNone(resource, resources) ?? []) : [],
  );
  const warnings: Warning[] = [
    ...collections.flatMap(({ name, schema }) => {
      const place = { schema: schema as unknown as JsonObject, fields: Object.keys(schema.properties) };
      return [...faultsAt(place, NAME_RULES)].map((each): Warning => [name, each.pointer, each.reason]);
    }),
    ...policies.flatMap((policy) => policyWarnings(policy, resources)),
    ...shorthandWarnings(resources, new Set(collections.filter(isBuiltIn).map(({ name }) => name))),
    ...escalations(policies, resources),
  ];
  const files = new Map(collections.map(({ name, file }) => [name, file]));
  return warnings.map(([name, pointer, reason]) => ({ file: files.get(name)!, pointer, reason }));
}

function policyOrNone(resource: Resource, resources: readonly Resource[]): Policy | undefined {
  try {
    return policyOf(resource, resources);
  } catch (error) {
    // A fault of the rules, which the check reports.
    if (error instanceof Problem) return undefined;
    throw error;
  }
}

/** Whether a declaration is one that comes with the service, whose documents say what `self` writes. */
const isBuiltIn = ({ name, schema }: Declarations['collections'][number]): boolean => {
  const text = builtInFiles().get(`${name}.json`);
  if (text === undefined) return false;
  const { properties } = JSON.parse(text) as { properties: object };
  return Object.keys(schema.properties).every((field) => Object.hasOwn(properties, field));
};

function policyWarnings({ resource, grants }: Policy, resources: readonly Resource[]): Warning[] {
  const { name } = resource;
  const at = ({ place }: Grant, member = '') => `/x-collection/access/${place}${member}`;
  const [known, named] = [knownScopes(resources.map((each) => ({ ...each, grants: [] }))), new Set<string>()];
  return grants.flatMap((grant): Warning[] => {
    const wider = grants.find((other) => other !== grant && includesGrant(other, grant));
    const isOpen = isForAnyone({ grants }, 'read');
    const changes = grant.verbs.has('update') || grant.verbs.has('delete');
    const scope =
      grant.scope !== undefined && !named.has(grant.scope) ? scopeWarning(grant.scope, known) : undefined;
    named.add(grant.scope ?? '');
    return [
      ...(wider
        ? [[name, at(grant), `has no effect: the grant ${wider.place} permits all of it`] as const]
        : []),
      ...(grant.to && changes && !isOpen
        ? [
            [
              name,
              at(grant, '/to'),
              'no grant lets callers without a credential read the records that they may write: they get 404',
            ] as const,
          ]
        : []),
      ...(scope === undefined ? [] : [[name, at(grant, '/scope'), scope] as const]),
      ...[...slowFields(grant.conditions, resource)].map(
        (field): Warning => [
          name,
          at(grant, '/where'),
          `compares ${field}, which has no index: lists read all records`,
        ],
      ),
    ];
  });
}

/** Whether a grant permits everything that another one does. Of two equal ones, the first permits it. */
function includesGrant(wide: Grant, grant: Grant): boolean {
  const isPart = (all: Grant, part: Grant) =>
    [...part.verbs].every((verb) => all.verbs.has(verb)) &&
    (all.to || !part.to) &&
    (all.scope === undefined || all.scope === part.scope) &&
    (!all.fields || (part.fields?.every((field) => all.fields!.includes(field)) ?? false)) &&
    implyAll(part.conditions, all.conditions);
  return isPart(wide, grant) && (wide.place < grant.place || !isPart(grant, wide));
}

function scopeWarning(scope: string, known: readonly string[]): string | undefined {
  if (known.includes(scope)) return undefined;
  const near = nearest(scope, known);
  return near === '' && !/:(read|write)$/.test(scope)
    ? undefined
    : `no collection has the scope ${scope}${near}`;
}

/** The members without an index with which conditions compare. Fields with which they may compare have one. */
function* slowFields(conditions: readonly Condition[], resource: Resource): Generator<string> {
  for (const condition of conditions)
    if (condition.kind !== 'comparison')
      yield* slowFields(condition.conditions, condition.kind === 'relation' ? condition.other : resource);
    else if (condition.field === '_version') yield '_version';
    else if (condition.field === 'updated_at' && !resource.sorts.has('updated_at')) yield 'updated_at';
}

/** Warnings about the writes that the shorthands `owner` and `nested` permit to the scope `self`, which each user has. */
function shorthandWarnings(resources: readonly Resource[], builtIn: ReadonlySet<string>): Warning[] {
  return resources
    .filter(({ name, hasRules, callerField }) => callerField !== undefined && !hasRules && !builtIn.has(name))
    .map(({ name, owner, parent }) => [
      name,
      `/x-collection/${owner ? 'owner' : 'nested'}`,
      `${
        owner
          ? 'the scope self changes all fields of the own record, and deletes it'
          : `the scope self, which each user has, creates, changes and deletes the records below a record of ${parent!.to}`
      }: write access rules if that is more than you want`,
    ]);
}

/** The fields and records on which rules depend, and which callers may write by `self` or by a grant about their own record. */
function escalations(policies: readonly Policy[], resources: readonly Resource[]): Warning[] {
  const callers = resources.find(({ owner }) => owner);
  const used = policies.flatMap(({ grants }) =>
    grants.flatMap(({ conditions }) => [...dependencies(conditions)]),
  );
  const fields = new Set(used.flatMap((each) => (typeof each === 'string' ? each : [])));
  const related = new Set(used.flatMap((each) => (typeof each === 'string' ? [] : each)));
  const ofCallers = policies.find(({ resource }) => resource === callers);
  return [
    ...[...fields]
      .filter(
        (field) => callers && !callers.readOnly.includes(field) && isOwnWritable(field, callers, ofCallers),
      )
      .map(
        (field): Warning => [
          callers!.name,
          `/properties/${escapeToken(field)}`,
          `access rules compare $caller.${field}, which callers may change themselves: limit it by fields of a grant, readOnly or x-set`,
        ],
      ),
    ...[...related]
      .filter(({ owner, callerField, hasRules }) => callerField !== undefined && !owner && !hasRules)
      .map(
        ({ name }): Warning => [
          name,
          '/x-collection/nested',
          'access rules of other collections depend on these records, which callers create themselves with the scope self: write access rules for them',
        ],
      ),
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
