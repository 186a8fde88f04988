import type { DeclaredGrant, Resource } from '../collection/resource.js';
import { Problem } from '../errors/problem.js';
import { escapeToken, type JsonObject } from '../json.js';
import { filterSegments, unescapeName } from '../list/query-names.js';
import { readGrant } from '../policy/policy.js';
import type { Declaration, DeclarationFault } from './declaration.js';
import { resourcesWithoutRefs } from './resource-of.js';
import { faultsAt, type Rule, rule } from './rule.js';

interface AccessPlace {
  readonly schema: JsonObject;
  readonly resource: Resource;
  readonly access: readonly DeclaredGrant[];
}

const ACCESS_RULES: readonly Rule<AccessPlace>[] = [
  rule(
    '/x-collection/public',
    'has no effect with access rules: write a grant with "to": "anyone"',
    (_, isPublic) => isPublic,
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

/** The faults of access rules: conditions that cannot be read, and grants that protect nothing. */
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
    if (!Array.isArray(access)) return [];
    const resource = resources[index]!;
    const place = { schema: schema as unknown as JsonObject, resource, access };
    const conditions = access.flatMap((grant, at) => conditionFaults(grant, at, resource, resources));
    return [...faultsAt(place, ACCESS_RULES), ...conditions].map((each) => ({ file, ...each }));
  });
}

function conditionFaults(
  grant: DeclaredGrant,
  place: number,
  resource: Resource,
  resources: readonly Resource[],
): Pick<DeclarationFault, 'pointer' | 'reason'>[] {
  try {
    readGrant(grant, place, resource, resources);
    return [];
  } catch (error) {
    // The schema of declarations finds grants of another form.
    if (error instanceof TypeError) return [];
    if (!(error instanceof Problem)) throw error;
    const { details } = error.more as { readonly details?: unknown };
    const first = ([details].flat()[0] ?? {}) as Record<string, string | undefined>;
    const { parameter = '', path = '', message = error.message } = first;
    const segments = (filterSegments(parameter) ?? []).map((each) => `/${escapeToken(unescapeName(each))}`);
    const pointer = segments.length > 0 ? segments.join('') : path.replace(/^\/filter/, '');
    return [{ pointer: `/x-collection/access/${place}/where${pointer}`, reason: message }];
  }
}
