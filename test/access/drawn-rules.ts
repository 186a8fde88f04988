import type { Json, JsonObject } from '../../src/json.js';
import type { Relations } from '../list/evaluator.js';
import type { Draw } from '../list/tracker.js';
import { CITUS_URL } from '../support/citus.js';
import { declared, reference, text } from '../support/declared.js';

const idOf = (to: string, onDelete?: string): JsonObject => ({ ...reference(to, onDelete), format: 'uuid' });

export type Name = 'people' | 'teams' | 'memberships' | 'issues' | 'comments';

export interface DrawnGrant {
  readonly can: readonly string[];
  readonly where?: JsonObject;
  readonly fields?: readonly string[];
  readonly scope?: string;
  readonly to?: 'anyone';
}

/** The grants of each collection; undefined: it has no rules. */
export type DrawnRules = Readonly<Record<Name, readonly DrawnGrant[] | undefined>>;

const searched: JsonObject = { type: 'string', maxLength: 200, 'x-search': true };
const number: JsonObject = { type: 'number', 'x-index': true };
const tags: JsonObject = { type: 'array', items: { type: 'string' }, 'x-index': true };

/** The fields of each collection. `status` is required, so that a rule hides a field that each record has. */
export const FIELDS: Readonly<Record<Name, Readonly<Record<string, JsonObject>>>> = {
  people: { name: text, level: number, region: text, tags },
  teams: { name: text, code: { ...text, 'x-unique': true }, ownerId: idOf('people') },
  memberships: { role: text, teamId: idOf('teams'), userId: idOf('people') },
  issues: {
    status: text,
    title: searched,
    note: { ...searched, 'x-index': true },
    estimate: number,
    isOpen: { type: 'boolean', 'x-index': true },
    due: { type: 'string', format: 'date-time', 'x-index': true },
    day: { type: 'string', format: 'date', 'x-index': true },
    tags,
    code: { ...text, 'x-unique': true },
    diary: { type: 'string' },
    teamId: idOf('teams'),
    assigneeId: idOf('people'),
    partOfId: idOf('issues'),
  },
  comments: { text: searched, likes: number, issueId: idOf('issues'), authorId: idOf('people') },
};

export const NAMES = Object.keys(FIELDS) as Name[];

export const RELATIONS: Relations = {
  people: {
    teams: { to: 'teams', referring: ['ownerId'] },
    memberships: { to: 'memberships', referring: ['userId'] },
    issues: { to: 'issues', referring: ['assigneeId'] },
    comments: { to: 'comments', referring: ['authorId'] },
  },
  teams: {
    owner: { to: 'people', field: 'ownerId' },
    memberships: { to: 'memberships', referring: ['teamId'] },
    issues: { to: 'issues', referring: ['teamId'] },
  },
  memberships: { team: { to: 'teams', field: 'teamId' }, user: { to: 'people', field: 'userId' } },
  issues: {
    team: { to: 'teams', field: 'teamId' },
    assignee: { to: 'people', field: 'assigneeId' },
    partOf: { to: 'issues', field: 'partOfId' },
    issues: { to: 'issues', referring: ['partOfId'] },
    comments: { to: 'comments', referring: ['issueId'] },
  },
  comments: { issue: { to: 'issues', field: 'issueId' }, author: { to: 'people', field: 'authorId' } },
};

/** The parent of each nested collection. */
export const PARENTS: Partial<Record<Name, { readonly to: Name; readonly field: string }>> = {
  memberships: { to: 'teams', field: 'teamId' },
  issues: { to: 'teams', field: 'teamId' },
  comments: { to: 'issues', field: 'issueId' },
};

export const ROLES = ['owner', 'member', 'guest'];
export const STATUSES = ['open', 'closed', 'waiting'];
export const REGIONS = ['north', 'south'];
export const TAGS = ['red', 'green', 'blue'];
const DAYS = ['2020-01-01', '2099-01-01'];

/** A comparison of a rule: with values of the request more often than with values of its own. */
function comparison(name: Name, { pick, maybe, next }: Draw): JsonObject {
  const choices: Readonly<Record<Name, readonly (() => JsonObject)[]>> = {
    people: [
      () => ({ id: '$caller' }),
      () => ({ level: { [pick(['lte', 'gt', 'ne'])]: '$caller.level' } }),
      () => ({ level: { gte: next(4) } }),
      () => ({ region: pick(['$caller.region', '$claims.region', pick(REGIONS)]) }),
      () => ({ tags: { has: '$claims.tag' } }),
      () => ({ tags: { any: pick<Json>(['$claims.tags', ['red', 'blue']]) } }),
    ],
    teams: [
      () => ({ ownerId: pick<Json>(['$caller', { ne: '$caller' }]) }),
      () => ({ id: { [pick(['in', 'nin'])]: '$claims.teams' } }),
    ],
    memberships: [
      () => ({ userId: '$caller' }),
      () => ({ role: { [pick(['in', 'nin'])]: '$claims.roles' } }),
      () => ({ role: pick(ROLES) }),
    ],
    issues: [
      () => ({ assigneeId: pick<Json>(['$caller', { ne: '$caller' }]) }),
      () => ({ status: { [pick(['eq', 'ne'])]: pick([...STATUSES, '$claims.status']) } }),
      () => ({ due: { [pick(['lt', 'gte'])]: '$now' } }),
      () => ({ day: { [pick(['lte', 'gt'])]: '$now' } }),
      () => ({ estimate: { [pick(['lte', 'gt'])]: pick<Json>(['$claims.max', '$caller.level', next(4)]) } }),
      () => ({ isOpen: maybe(0.5) }),
      () => ({ tags: { has: pick([...TAGS, '$claims.tag']) } }),
      () => ({ tags: { any: '$caller.tags' } }),
      () => ({ teamId: { [pick(['in', 'nin'])]: '$claims.teams' } }),
      () => ({ note: { null: maybe(0.5) } }),
    ],
    comments: [
      () => ({ authorId: '$caller' }),
      () => ({ likes: { gte: pick<Json>([next(4), '$claims.max']) } }),
    ],
  };
  return pick(choices[name])();
}

/** The conditions of a grant. */
export function drawWhere(name: Name, draw: Draw, steps = 2, depth = 2): JsonObject {
  const { pick, maybe, next } = draw;
  const kind = next(10);
  if (depth > 0 && kind < 2)
    return {
      [pick(['or', 'and'])]: Array.from({ length: 2 }, () => drawWhere(name, draw, steps, depth - 1)),
    };
  if (depth > 0 && kind === 2) return { not: drawWhere(name, draw, steps, depth - 1) };
  if (steps === 0 || kind < 5) return comparison(name, draw);
  const [relation, { to, field }] = pick(Object.entries(RELATIONS[name]!));
  const inner = drawWhere(to as Name, draw, steps - 1, depth - 1);
  if (field !== undefined) return { [relation]: inner };
  const quantifier = pick(['some', 'some', 'none', 'every']);
  return { [relation]: { [quantifier]: quantifier !== 'every' && maybe(0.2) ? true : inner } };
}

function drawGrant(name: Name, draw: Draw): DrawnGrant {
  const { pick, maybe } = draw;
  const verbs = ['read', 'create', 'update', 'delete'];
  const drawn = verbs.filter((verb) => maybe(verb === 'read' ? 0.7 : 0.45));
  const fields = Object.keys(FIELDS[name]).filter(() => maybe(0.6));
  const can = maybe(0.15) ? ['all'] : drawn.length === 0 ? [pick(verbs)] : drawn;
  // A deletion has no fields, and a check refuses that anyone changes callers.
  const mayHaveFields = fields.length > 0 && can.some((verb) => verb !== 'delete');
  const isForCallers = name === 'people' && can.some((verb) => verb !== 'read' && verb !== 'create');
  return {
    can,
    ...(maybe(0.8) ? { where: drawWhere(name, draw) } : {}),
    ...(mayHaveFields && maybe(0.35) ? { fields } : {}),
    ...(maybe(0.1) ? { scope: 'staff' } : {}),
    ...(maybe(0.15) && !isForCallers ? { to: 'anyone' } : {}),
  };
}

/** Conditions for the records of a caller, which an index finds. */
const OWN: Readonly<Record<Name, JsonObject>> = {
  people: { id: '$caller' },
  teams: { ownerId: '$caller' },
  memberships: { userId: '$caller' },
  issues: { assigneeId: '$caller' },
  comments: { authorId: '$caller' },
};

/** Two grants to read that differ in their fields and scopes alone. */
function drawTwins(name: Name, draw: Draw): DrawnGrant[] {
  const where = draw.maybe(0.5) ? OWN[name] : drawWhere(name, draw);
  return ['staff', 'board'].map((scope) => {
    const fields = Object.keys(FIELDS[name]).filter(() => draw.maybe(0.5));
    return { can: ['read'], where, scope, ...(fields.length > 0 && { fields }) };
  });
}

export function drawRules(draw: Draw): DrawnRules {
  const grants = (name: Name): DrawnGrant[] => {
    const hasTwins = draw.maybe(0.3);
    const drawn = Array.from({ length: draw.next(4) + (hasTwins ? 0 : 1) }, () => drawGrant(name, draw));
    return [...drawn, ...(hasTwins ? drawTwins(name, draw) : []), { can: ['all'], scope: 'admin' }];
  };
  return Object.fromEntries(
    NAMES.map((name) => [name, name === 'teams' && draw.maybe(0.2) ? undefined : grants(name)]),
  ) as unknown as DrawnRules;
}

/** The declarations of all collections with rules, by file. */
export function declarationsOf(rules: DrawnRules, lists: () => string): Record<string, JsonObject> {
  const files = Object.fromEntries(
    NAMES.map((name) => [
      `${name}.json`,
      declared(
        FIELDS[name],
        {
          list: lists(),
          ...(CITUS_URL === '' ? { history: true } : {}),
          ...(rules[name] ? { access: rules[name] as unknown as Json } : {}),
          ...(name === 'people' ? { owner: true } : {}),
          ...(name === 'issues' && CITUS_URL === '' ? { ids: 'client' } : {}),
          ...(PARENTS[name] ? { nested: PARENTS[name].field } : {}),
        },
        { required: name === 'issues' ? ['status'] : [] },
      ),
    ]),
  );
  // The callers are those of another collection.
  return { ...files, 'users.json': { type: 'object', properties: {}, 'x-collection': { owner: false } } };
}

/** The fields of a record, of which many lack some. `token` makes texts that no other record has. */
export function drawRecord(
  name: Name,
  idOf: (name: Name) => string | undefined,
  token: () => string,
  { pick, maybe, next }: Draw,
): JsonObject {
  const all: Readonly<Record<Name, () => Record<string, Json | undefined>>> = {
    people: () => ({ name: `Ann ${token()}`, level: next(5), region: pick(REGIONS), tags: [pick(TAGS)] }),
    teams: () => ({ name: `Team ${token()}`, code: `t${next(12)}`, ownerId: idOf('people') }),
    memberships: () => ({ role: pick(ROLES), teamId: idOf('teams'), userId: idOf('people') }),
    issues: () => ({
      status: pick(STATUSES),
      title: `${pick(TAGS)} ${token()}`,
      note: `note ${token()}`,
      estimate: next(5),
      isOpen: maybe(0.5),
      due: `${pick(DAYS)}T00:00:00.000Z`,
      day: pick(DAYS),
      tags: [pick(TAGS), pick(TAGS)].slice(next(2)),
      code: `i${next(60)}`,
      diary: `diary ${token()}`,
      teamId: idOf('teams'),
      assigneeId: idOf('people'),
      partOfId: idOf('issues'),
    }),
    comments: () => ({
      text: `text ${token()}`,
      likes: next(5),
      issueId: idOf('issues'),
      authorId: idOf('people'),
    }),
  };
  return Object.fromEntries(
    Object.entries(all[name]()).filter(
      ([field, value]) => value !== undefined && (field === 'status' || maybe(0.85)),
    ),
  ) as JsonObject;
}
