import type { DeclaredGrant, Resource } from '../collection/resource.js';
import { Problem } from '../errors/problem.js';
import { escapeToken, isObject, type Json, type JsonObject } from '../json.js';
import type { Condition } from '../list/condition.js';
import { filterSegments, unescapeName } from '../list/query-names.js';
import { isAbout, readGrant, VERBS } from '../policy/policy.js';
import type { Declaration, DeclarationFault } from './declaration.js';
import { resourcesWithoutRefs } from './resource-of.js';
import { faultsAt, type Rule, rule } from './rule.js';

interface AccessPlace {
  readonly schema: JsonObject;
  readonly resource: Resource;
  readonly access: readonly DeclaredGrant[];
}

/** Rules about grants that cannot hold, or hold for no caller. */
const ACCESS_RULES: readonly Rule<AccessPlace>[] = [
  rule(
    '/x-collection/public',
    'has no effect with access rules: write a grant with "to": "anyone"',
    (_, isPublic) => isPublic,
  ),
  rule(
    '/x-collection/access',
    'no grant permits anybody to read',
    ({ access }) => !access.some((grant) => isAbout(grant, 'read')),
  ),
  rule(
    '/x-collection/access/*/fields/*',
    (_, name) => `there is no field ${name}`,
    ({ resource: { schema } }, name) =>
      schema.additionalProperties === false && !Object.hasOwn(schema.properties, String(name)),
  ),
  rule(
    '/x-collection/access/*/fields',
    'has no effect: a deletion is about the whole record',
    ({ access }, fields, [place]) => fields && String(access[Number(place)]!.can) === 'delete',
  ),
  rule(
    '/x-collection/access/*/to',
    'anyone could change how people sign in',
    ({ resource, access }, to, [at]) => {
      const verbs: readonly string[] = [access[Number(at)]!.can].flat();
      return to === 'anyone' && resource.owner && verbs.some((verb) => verb !== 'read' && verb !== 'create');
    },
  ),
];

/** The faults of access rules: conditions that cannot be read, and grants that cannot hold or hold for no caller. */
export function accessFaults(declarations: readonly Declaration[]): DeclarationFault[] {
  if (!declarations.some(({ schema }) => schema['x-collection']?.access)) return [];
  let resources: Resource[];
  try {
    resources = resourcesWithoutRefs(declarations);
  } catch {
    // Other faults of the declarations prevent that they are read.
    return [];
  }
  return declarations.flatMap(({ file, schema }, index) => {
    const access: unknown = schema['x-collection']?.access;
    // The schema of declarations finds grants of another form.
    if (!Array.isArray(access) || !access.every(isGrant)) return [];
    const resource = resources[index]!;
    const place = { schema: schema as unknown as JsonObject, resource, access };
    const conditions = access.flatMap((grant, at) => conditionFaults(grant, at, resource, resources));
    return [...faultsAt(place, ACCESS_RULES), ...conditions].map(({ pointer, reason }) => {
      return { file, pointer, reason };
    });
  });
}

function isGrant(given: unknown): given is DeclaredGrant {
  if (!isObject(given as Json)) return false;
  const { can, where = {}, fields = [] } = given as DeclaredGrant;
  const isVerb = (each: unknown) => each === 'all' || VERBS.includes(each as (typeof VERBS)[number]);
  return [can].flat().every(isVerb) && isObject(where) && Array.isArray(fields);
}

function conditionFaults(
  grant: DeclaredGrant,
  place: number,
  resource: Resource,
  resources: readonly Resource[],
): Pick<DeclarationFault, 'pointer' | 'reason'>[] {
  const at = `/x-collection/access/${place}/where`;
  try {
    const { conditions } = readGrant(grant, place, resource, resources);
    const reason = conditions.map((each) => neverFault(each, resource)).find((each) => each !== undefined);
    return reason === undefined ? [] : [{ pointer: at, reason }];
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const { details } = error.more as { readonly details?: unknown };
    const {
      parameter = '',
      path = '',
      message = error.message,
    } = ([details].flat()[0] ?? {}) as Record<string, string | undefined>;
    const segments = (filterSegments(parameter) ?? []).map((each) => `/${escapeToken(unescapeName(each))}`);
    const pointer = segments.length > 0 ? segments.join('') : path.replace(/^\/filter/, '');
    return [{ pointer: at + pointer, reason: message }];
  }
}

/** Why a comparison never holds: the field has none of the values. */
function neverFault(condition: Condition, { schema }: Resource): string | undefined {
  if (condition.kind !== 'comparison') return undefined;
  const { field, operator, values, symbol } = condition;
  const { enum: known } = (schema.properties[field] ?? {}) as { enum?: readonly Json[] };
  if (!known || symbol || (operator !== 'eq' && operator !== 'in')) return undefined;
  if (values.some((value) => known.some((each) => String(each) === value))) return undefined;
  return `can never hold: ${field} ${operator} ${values.join(', ')} is not one of the values of the field`;
}
