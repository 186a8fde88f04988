import { type Principal, scopesOf } from '../../auth/principal.js';
import { storedScopes } from '../../auth/user-scopes.js';
import type { Db, Run } from '../../db/db.js';
import { invalidQuery } from '../../errors/input-errors.js';
import type { ScopedCollection } from '../../feature.js';
import type { Json } from '../../json.js';
import { type Comparison, type Condition, comparedColumn } from '../../list/condition.js';
import { appliesTo, type Grant, grantFields, holdsScope, VERBS, type Verb } from '../../policy/policy.js';
import { parseUuid } from '../../uuid.js';
import { splitVersion } from '../../versions/supported.js';

/** The services that the explanation of access rules runs with. */
export interface AccessServices {
  readonly db: Db;
  readonly collections: readonly ScopedCollection[];
}

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
 * The explanation of a path for a caller as the operator names it. Without scopes, a user has its own. Throws 400 for a path that leads to
 * no record and no collection.
 */
export async function explanationOf(
  { db, collections }: AccessServices,
  path: string,
  { subject, scopes }: { readonly subject: string; readonly scopes: string | undefined },
  run = db.run,
) {
  const [, name = '', id, ...rest] = splitVersion(path.split('?', 1)[0]!).path.split('/');
  const scoped = collections.find(({ resource }) => resource.name === name);
  const record = id === undefined || id === '' ? undefined : parseUuid(id);
  if (!scoped || rest.length > 0 || (id && record === undefined))
    throw invalidQuery(
      'path',
      `must be the path of a record or of a collection, such as /${name || 'issues'}/<id>`,
    );
  const user = parseUuid(subject);
  const principal: Principal = {
    subject: user ?? subject,
    scopes: scopes === undefined ? await storedScopes(run, user) : scopesOf(scopes),
    scheme: 'session',
    expiresAt: undefined,
  };
  const access = await explain(scoped, record, principal, run === db.run ? undefined : run);
  return { collection: name, id: record ?? null, access };
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
  { resource, store, whole }: ScopedCollection,
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
  const column = comparedColumn(resource, 'id')!;
  const only: Comparison = { kind: 'comparison', field: 'id', column, operator: 'eq', values: [id] };
  const symbolValues = store.symbolValues(principal);
  const failed: Json[] = [];
  for (const [at, condition] of grant.conditions.entries()) {
    const ids = await whole.ids({ conditions: [only, condition], symbolValues, search: [] }, 1, run);
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
