import type { Json, JsonObject } from '../../src/json.js';
import { CITUS_URL } from '../support/citus.js';
import { declared } from '../support/declared.js';
import { randomOf } from '../support/runner/random.js';
import type { TestService } from '../support/service.js';
import type { Test } from '../support/test.js';
import { seedOf } from '../support/thorough.js';
import type { Data, Relations } from './evaluator.js';

const reference = (to: string) => ({
  type: 'string',
  format: 'uuid',
  'x-references': to,
  'x-on-delete': 'cascade',
});
const references = (to: string) => ({
  type: 'array',
  maxItems: 10,
  items: { type: 'string', format: 'uuid', 'x-references': to, 'x-on-delete': 'remove' },
});
/** Citus refuses arrays of references. */
export const HAS_ARRAYS = CITUS_URL === '';
const ofArrays = <T extends object>(members: T): Partial<T> => (HAS_ARRAYS ? members : {});
const text = { type: 'string', maxLength: 100, 'x-index': true };
const number = { type: 'number', 'x-index': true };
const collection = (properties: JsonObject, options: JsonObject = {}) =>
  declared(properties, { list: 'page', index: ['updated_at'], ...options });

/** An issue tracker: collections with references of all kinds. */
export const DECLARATIONS = {
  'people.json': collection({ name: text }),
  'teams.json': collection({
    name: text,
    rank: number,
    ownerId: reference('people'),
    deputyId: reference('people'),
  }),
  'memberships.json': collection({ teamId: reference('teams'), personId: reference('people'), role: text }),
  'projects.json': collection({
    teamId: reference('teams'),
    title: { ...text, 'x-search': true },
    tags: { type: 'array', items: { type: 'string' }, 'x-index': true },
    due: { type: 'string', format: 'date-time', 'x-index': true },
    // A field with the name of a relation, and fields with the names of combinations.
    issues: number,
    or: text,
    not: number,
  }),
  'issues.json': collection({
    projectId: reference('projects'),
    assigneeId: reference('people'),
    partOfId: reference('issues'),
    ...ofArrays({ watcherIds: references('people'), blockers: references('issues') }),
    title: { type: 'string', maxLength: 5000, 'x-search': true },
    note: { type: 'string', 'x-search': true },
    status: text,
    estimate: number,
    isOpen: { type: 'boolean', 'x-index': true },
  }),
  'comments.json': collection({ issueId: reference('issues'), authorId: reference('people'), likes: number }),
};

export const RELATIONS: Relations = {
  people: {
    teams: { to: 'teams', referring: ['ownerId', 'deputyId'] },
    memberships: { to: 'memberships', referring: ['personId'] },
    issues: { to: 'issues', referring: ['assigneeId', ...(HAS_ARRAYS ? ['watcherIds'] : [])] },
    comments: { to: 'comments', referring: ['authorId'] },
  },
  teams: {
    owner: { to: 'people', field: 'ownerId' },
    deputy: { to: 'people', field: 'deputyId' },
    memberships: { to: 'memberships', referring: ['teamId'] },
    projects: { to: 'projects', referring: ['teamId'] },
  },
  memberships: { team: { to: 'teams', field: 'teamId' }, person: { to: 'people', field: 'personId' } },
  projects: { team: { to: 'teams', field: 'teamId' }, issues: { to: 'issues', referring: ['projectId'] } },
  issues: {
    project: { to: 'projects', field: 'projectId' },
    assignee: { to: 'people', field: 'assigneeId' },
    partOf: { to: 'issues', field: 'partOfId' },
    ...ofArrays({
      watchers: { to: 'people', field: 'watcherIds', isList: true },
      blockers: { to: 'issues', field: 'blockers', isList: true },
    }),
    issues: { to: 'issues', referring: ['partOfId', ...(HAS_ARRAYS ? ['blockers'] : [])] },
    comments: { to: 'comments', referring: ['issueId'] },
  },
  comments: { issue: { to: 'issues', field: 'issueId' }, author: { to: 'people', field: 'authorId' } },
};

/** Declarations of collections by their files, with the relations of the collections. */
export interface Schema {
  readonly declarations: Readonly<
    Record<string, { readonly properties: Readonly<Record<string, JsonObject>> }>
  >;
  readonly relations: Relations;
}

export const TRACKER: Schema = {
  declarations: DECLARATIONS as unknown as Schema['declarations'],
  relations: RELATIONS,
};

export const WORDS = ['red', 'Red', 'green', 'blue-green', '50%', 'a_b', 'back\\slash', 'a,b', 'ü', 'z'];
const STATUSES = ['open', 'closed', 'waiting'];

export function drawing(seed: number) {
  const random = randomOf(seed);
  const next = (below: number) => Math.floor(random() * below);
  const pick = <T>(values: readonly T[]): T => values[next(values.length)]!;
  return { next, pick, maybe: (share: number) => random() < share };
}

export type Draw = ReturnType<typeof drawing>;

/** Draws from a seed that the test prints. */
export const drawingOf = (t: Test): Draw => drawing(seedOf(t));

/** A service with records of drawn or fixed declarations. */
export interface World {
  readonly service: TestService;
  readonly draw: Draw;
  readonly schema: Schema;
  readonly data: Data;
}

/** Ids for an array of references, of which there may be none yet. */
export const idsOf = ({ next }: Draw, id: () => Json): Json =>
  Array.from({ length: next(4) }, id).filter((each) => each !== undefined);

/** Stores records of all collections, of which many lack fields, and returns them as the service shows them. */
export async function fill(service: TestService, draw: Draw): Promise<Data> {
  const { next, pick, maybe } = draw;
  const drawRecords = (idOf: (name: string) => Json): Readonly<Record<string, () => JsonObject>> => ({
    people: () => ({ name: pick(WORDS) }),
    teams: () => ({ name: pick(WORDS), rank: next(5), ownerId: idOf('people'), deputyId: idOf('people') }),
    memberships: () => ({
      teamId: idOf('teams'),
      personId: idOf('people'),
      role: pick(['owner', 'member', 'guest']),
    }),
    projects: () => ({
      teamId: idOf('teams'),
      title: pick(WORDS),
      tags: [pick(WORDS), pick(WORDS)].slice(next(2)),
      due: `2026-0${1 + next(9)}-01T00:00:00.000Z`,
      issues: next(3),
      or: pick(WORDS),
      not: next(3),
    }),
    issues: () => ({
      projectId: idOf('projects'),
      assigneeId: idOf('people'),
      partOfId: idOf('issues'),
      ...ofArrays({
        watcherIds: idsOf(draw, () => idOf('people')),
        blockers: idsOf(draw, () => idOf('issues')),
      }),
      title: `${pick(WORDS)} ${pick(WORDS)}`,
      note: pick(WORDS),
      status: pick(STATUSES),
      estimate: next(6) - 2,
      isOpen: maybe(0.5),
    }),
    comments: () => ({ issueId: idOf('issues'), authorId: idOf('people'), likes: next(4) }),
  });
  const COUNTS = { people: 6, teams: 8, memberships: 24, projects: 14, issues: 40, comments: 50 };
  return store(service, draw, COUNTS, drawRecords);
}

/** Stores so many records of each collection, without some of their drawn fields. A field without a value is absent. */
export async function store(
  service: TestService,
  { pick, maybe }: Draw,
  counts: Readonly<Record<string, number>>,
  drawRecords: (idOf: (name: string) => Json) => Readonly<Record<string, () => JsonObject>>,
): Promise<Data> {
  const data: Record<string, JsonObject[]> = {};
  const some = (fields: JsonObject): JsonObject =>
    Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && maybe(0.75)));
  const recordOf = drawRecords((name) => (data[name]?.length ? pick(data[name]).id! : (undefined as never)));
  for (const [name, count] of Object.entries(counts)) {
    data[name] = [];
    for (let n = 0; n < count; n++) {
      const { status, json } = await service.send('POST', `/${name}`, { body: some(recordOf[name]!()) });
      if (status !== 201) throw new Error(JSON.stringify(json));
      data[name].push(json);
    }
    // Versions and times of changes differ.
    for (const [at, record] of data[name].entries())
      if (maybe(0.3)) {
        const changed = await service.send('PATCH', `/${name}/${record.id}`, {
          body: { extra: 1 },
          headers: { 'content-type': 'application/merge-patch+json' },
        });
        data[name][at] = changed.json;
      }
  }
  return data;
}
