import { readGrant, VERBS } from '../access/rules.js';
import type { DeclaredGrant, Resource } from '../collection/resource.js';
import { Problem } from '../errors/problem.js';
import { escapeToken, isObject, type Json, type JsonObject } from '../json.js';
import type { Condition } from '../list/condition.js';
import { filterSegments, unescapeName } from '../list/query-names.js';
import type { Declaration, DeclarationFault } from './declaration.js';
import { resourcesWithoutRefs } from './resource-of.js';

type Fault = readonly [pointer: string, reason: string];

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
  return declarations.flatMap((declaration, index) =>
    collectionFaults(declaration, resources[index]!, resources).map(([pointer, reason]) => ({
      file: declaration.file,
      pointer: `/x-collection/${pointer}`,
      reason,
    })),
  );
}

function collectionFaults(
  { schema }: Declaration,
  resource: Resource,
  resources: readonly Resource[],
): Fault[] {
  const { access, public: isPublic } = schema['x-collection'] ?? {};
  // The schema of declarations finds grants of another form.
  if (!Array.isArray(access) || !access.every(isGrant)) return [];
  const verbs = new Set(access.flatMap(({ can }) => [can].flat()));
  const readable: Fault[] =
    verbs.has('read') || verbs.has('all') ? [] : [['access', 'no grant permits anybody to read']];
  const shorthand: Fault[] = isPublic
    ? [['public', 'has no effect with access rules: write a grant with "to": "anyone"']]
    : [];
  return [
    ...shorthand,
    ...readable,
    ...access.flatMap((grant, place) =>
      grantFaults(grant, place, resource, resources).map(
        ([pointer, reason]): Fault => [`access/${place}${pointer}`, reason],
      ),
    ),
  ];
}

function isGrant(given: unknown): given is DeclaredGrant {
  if (!isObject(given as Json)) return false;
  const { can, where = {}, fields = [] } = given as DeclaredGrant;
  const isVerb = (each: unknown) => each === 'all' || VERBS.includes(each as (typeof VERBS)[number]);
  return [can].flat().every(isVerb) && isObject(where) && Array.isArray(fields);
}

function grantFaults(
  grant: DeclaredGrant,
  place: number,
  resource: Resource,
  resources: readonly Resource[],
): Fault[] {
  const { can, fields = [], to } = grant;
  const named = [can].flat();
  const unknown = fields.flatMap((name, at): Fault[] =>
    Object.hasOwn(resource.schema.properties, name) || isOpen(resource)
      ? []
      : [[`/fields/${at}`, `there is no field ${name}`]],
  );
  const writesCallers =
    to === 'anyone' && resource.owner && named.some((verb) => verb !== 'read' && verb !== 'create');
  return [
    ...unknown,
    ...(grant.fields && named.length === 1 && named[0] === 'delete'
      ? [['/fields', 'has no effect: a deletion is about the whole record'] as const]
      : []),
    ...(writesCallers ? [['/to', 'anyone could change how people sign in'] as const] : []),
    ...conditionFaults(grant, place, resource, resources),
  ];
}

const isOpen = ({ schema }: Resource): boolean => schema.additionalProperties !== false;

function conditionFaults(
  grant: DeclaredGrant,
  place: number,
  resource: Resource,
  resources: readonly Resource[],
): Fault[] {
  try {
    const { conditions } = readGrant(grant, place, resource, resources);
    const never = conditions.find((condition) => isImpossible(condition, resource));
    return never
      ? [['/where', `can never hold: ${textOf(never)} is not one of the values of the field`]]
      : [];
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const { details } = error.more as { details?: { parameter?: string; path?: string } | JsonObject[] };
    const {
      parameter = '',
      path = '',
      message = error.message,
    } = ((Array.isArray(details) ? details[0] : details) ?? {}) as Record<string, string | undefined>;
    const segments = filterSegments(String(parameter)) ?? [];
    const pointer =
      segments.length > 0
        ? segments.map((segment) => `/${escapeToken(unescapeName(segment))}`).join('')
        : String(path).replace(/^\/filter/, '');
    return [[`/where${pointer}`, message]];
  }
}

/** Whether a condition never holds, since the field has none of the values. */
function isImpossible(condition: Condition, resource: Resource): boolean {
  if (condition.kind === 'comparison') {
    const { field, operator, values } = condition;
    const { enum: known } = (resource.schema.properties[field] ?? {}) as { enum?: readonly Json[] };
    if (!known || condition.symbol || (operator !== 'eq' && operator !== 'in')) return false;
    return !values.some((value) => known.some((each) => String(each) === value));
  }
  const { conditions } = condition;
  if (condition.kind === 'relation') {
    const { quantifier, other } = condition;
    const isNeeded = quantifier === 'one' || quantifier === 'some';
    return isNeeded && conditions.some((each) => isImpossible(each, other));
  }
  if (condition.kind === 'not') return false;
  return conditions[condition.kind === 'or' ? 'every' : 'some']((each) => isImpossible(each, resource));
}

/** The comparisons of a condition, for a message. */
function textOf(condition: Condition): string {
  if (condition.kind !== 'comparison') return condition.conditions.map(textOf).join(', ');
  return `${condition.field} ${condition.operator} ${condition.values.join(', ')}`;
}
