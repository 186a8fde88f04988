import type { Principal } from '../auth/principal.js';
import type { Run } from '../db/db.js';
import type { Json } from '../json.js';
import { filterOfBody } from '../list/body-values.js';
import type { Condition } from '../list/condition.js';
import { readFilter } from '../list/read-filter.js';
import { grantFields } from './column-mask.js';
import { appliesTo, type Grant, holdsScope, VERBS, type Verb } from './policy.js';
import { callerIn } from './row-filter.js';
import type { ScopedCollection } from './scoped-collection.js';

/** Whether a grant permits something, and why it does not. */
export interface ExplainedGrant {
  /** The place of the grant in the declaration, as a JSON Pointer. */
  readonly grant: string;
  /** Null: the record decides, and there is none yet. */
  readonly holds: boolean | null;
  /** Why the grant does not hold; null: it holds, or the record decides. */
  readonly reason: string | null;
  /** The conditions of `where` that do not hold for the record. */
  readonly failed: readonly Json[];
}

/** A verb, with the grants of a collection that permit it to a caller. */
export interface Explanation {
  readonly verb: Verb;
  /** Null: the record decides, and there is none yet. */
  readonly permitted: boolean | null;
  /** The fields that the grants show or set; null: all. */
  readonly fields: readonly string[] | null;
  readonly grants: readonly ExplainedGrant[];
}

/**
 * Explains the rules of a collection for a caller and a record, grant by grant; `id` undefined: for all records. A collection
 * without rules has none to explain.
 */
export async function explain(
  scoped: ScopedCollection,
  id: string | undefined,
  principal: Principal,
  run?: Run,
): Promise<Explanation[]> {
  const explanations: Explanation[] = [];
  for (const verb of scoped.resource.hasRules ? VERBS : []) {
    const grants = scoped.policy.grants.filter(({ verbs }) => verbs.has(verb));
    const record = verb === 'create' ? undefined : id;
    const found: ExplainedGrant[] = [];
    for (const grant of grants) found.push(await explainGrant(scoped, grant, verb, record, principal, run));
    const holding = grants.filter((_, at) => found[at]!.holds !== false);
    const fields = grantFields(holding);
    const isOpen = found.some(({ holds }) => holds === null);
    explanations.push({
      verb,
      permitted: found.some(({ holds }) => holds === true) || (isOpen ? null : false),
      fields: holding.length === 0 || !fields ? null : [...fields],
      grants: found,
    });
  }
  return explanations;
}

async function explainGrant(
  { resource, policy, whole }: ScopedCollection,
  grant: Grant,
  verb: Verb,
  id: string | undefined,
  principal: Principal,
  run: Run | undefined,
): Promise<ExplainedGrant> {
  const pointer = { grant: `/x-collection/access/${grant.place}` };
  if (!appliesTo(grant, verb, resource, principal)) {
    const { scope } = grant;
    const needed = verb === 'read' ? resource.scopes.read : resource.scopes.write;
    const reason =
      scope === undefined || holdsScope(principal, scope)
        ? `needs the scope ${needed} or self`
        : `needs the scope ${scope}`;
    return { ...pointer, holds: false, reason, failed: [] };
  }
  if (grant.conditions.length === 0) return { ...pointer, holds: true, reason: null, failed: [] };
  if (id === undefined) return { ...pointer, holds: null, reason: null, failed: [] };
  const only = readFilter(filterOfBody({ id }), { resource });
  const { values: symbolValues } = callerIn(policy, principal);
  const failed: Json[] = [];
  for (const [at, condition] of grant.conditions.entries()) {
    const ids = await whole.ids({ conditions: [...only, condition], symbolValues, search: [] }, 1, run);
    if (ids.length === 0) failed.push(declared(grant, at, condition));
  }
  const holds = failed.length === 0;
  return { ...pointer, holds, reason: holds ? null : 'the record does not fulfil its conditions', failed };
}

/** A condition as its declaration has it: each member of `where` is one, but those with several operators. */
function declared({ where = {}, conditions }: Grant, at: number, condition: Condition): Json {
  const members = Object.entries(where as Readonly<Record<string, Json>>);
  const member = members.length === conditions.length ? members[at] : undefined;
  return member
    ? { [member[0]]: member[1] }
    : condition.kind === 'comparison'
      ? condition.field
      : condition.kind;
}
