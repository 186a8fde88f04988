import type { JsonObject } from '../../../src/json.js';
import { openForCallers } from '../../support/callers.js';
import { declare } from '../../support/collections.js';
import { plinth } from '../../support/command.js';
import { whenEventsAreFinal } from '../../support/final-events.js';
import t, { type Test } from '../../support/test.js';

const text: JsonObject = { type: 'string', 'x-index': true };
const parent = (to: string): JsonObject => ({
  type: 'string',
  'x-references': to,
  'x-on-delete': 'cascade',
});
const ofMembers: JsonObject = { team: { memberships: { some: { userId: '$caller' } } } };
const admin: JsonObject = { can: 'all', scope: 'admin' };

/** Memberships and projects are in the shards of their teams, tasks in those of their projects. */
const DECLARATIONS: Readonly<Record<string, JsonObject>> = {
  'teams.json': { type: 'object', properties: { name: text }, 'x-collection': { access: [admin] } },
  'memberships.json': {
    type: 'object',
    required: ['teamId'],
    properties: { userId: text, teamId: parent('teams') },
    'x-collection': { nested: 'teamId', access: [{ can: 'read', where: { userId: '$caller' } }, admin] },
  },
  'projects.json': {
    type: 'object',
    required: ['teamId'],
    properties: { state: text, teamId: parent('teams') },
    'x-collection': {
      nested: 'teamId',
      access: [
        { can: 'read', to: 'anyone', where: { state: 'public' } },
        { can: 'read', where: ofMembers },
        admin,
      ],
    },
  },
  'tasks.json': {
    type: 'object',
    required: ['projectId'],
    properties: {
      title: { type: 'string', 'x-index': true, 'x-search': true },
      secret: text,
      authorId: { ...text, 'x-set': '$caller' },
      projectId: parent('projects'),
    },
    'x-collection': {
      nested: 'projectId',
      access: [
        {
          can: 'read',
          to: 'anyone',
          where: { project: { state: 'public' } },
          fields: ['title', 'projectId'],
        },
        { can: 'read', where: { project: ofMembers } },
        { can: ['create', 'update'], where: { project: ofMembers }, fields: ['title', 'projectId'] },
        { can: ['update', 'delete'], where: { authorId: '$caller', project: { not: { state: 'closed' } } } },
        admin,
      ],
    },
  },
};

const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  red: ['ann', 'bob'],
  blue: ['bob'],
  green: [],
};
const STATES = ['public', 'open', 'closed'];
const CALLERS = ['ann', 'bob', 'eve'];

interface Task {
  readonly id: string;
  readonly team: string;
  readonly state: string;
  readonly author: string;
  readonly projectId: string;
}

/** The rules of tasks in plain JavaScript. */
const isMember = (caller: string, { team }: Pick<Task, 'team'>) => MEMBERS[team]!.includes(caller);
const reads = (caller: string, task: Task) => task.state === 'public' || isMember(caller, task);
const removes = (caller: string, task: Task) => task.author === caller && task.state !== 'closed';
const changes = (caller: string, task: Task) => isMember(caller, task) || removes(caller, task);

async function open(t: Test) {
  const { service, as, made } = await openForCallers(t, DECLARATIONS);
  const callsOf = async (...scopes: string[]) =>
    Object.fromEntries(
      await Promise.all(CALLERS.map(async (name) => [name, await as(name, ...scopes)] as const)),
    );
  const [calls, author] = [await callsOf('self', 'events:read'), await callsOf('admin')];
  const tasks: Task[] = [];
  for (const [team, members] of Object.entries(MEMBERS)) {
    const teamId = await made('/teams', { name: team });
    for (const userId of members) await made('/memberships', { userId, teamId });
    for (const state of STATES) {
      const projectId = await made('/projects', { state, teamId });
      for (const name of ['ann', 'eve']) {
        const task = { title: `of ${name}`, secret: `${team} ${state}`, projectId };
        const { json, status } = await author[name]!('POST', '/tasks', task);
        t.equal(status, 201, JSON.stringify(json));
        tasks.push({ id: json.id, team, state, author: name, projectId });
      }
    }
  }
  await whenEventsAreFinal(service);
  return { calls, tasks, made };
}

interface Including {
  readonly _included?: { readonly tasks: readonly JsonObject[] };
}

const idsOf = (records: readonly JsonObject[]) => records.map(({ id }) => String(id)).sort();

t.test('callers read the records and fields that the rules permit, in each form of a list', async (t) => {
  const { calls, tasks } = await open(t);
  for (const caller of CALLERS) {
    const call = calls[caller]!;
    const get = async (path: string, headers = {}) => {
      const reply = await call('GET', path, undefined, headers);
      t.ok(reply.status < 300, `${caller} ${path}: ${reply.text}`);
      return reply;
    };
    const seen = tasks.filter((task) => reads(caller, task));
    const expected = idsOf(seen.map(({ id }) => ({ id })));
    t.ok(seen.length > 0 && seen.length < tasks.length, caller);
    for (const path of ['/tasks', '/tasks?sort=title', '/tasks?search=of'])
      t.same(idsOf((await get(path)).json), expected, `${caller} ${path}`);
    const page = (await get('/tasks?page=1&limit=100')).json;
    t.same([idsOf(page.data), page.meta.total], [expected, seen.length], caller);
    const cursors = (await get('/api/v2/tasks?limit=100')).json;
    t.same(idsOf(cursors.data), expected, caller);
    const lines = (await get('/tasks', { accept: 'application/x-ndjson' })).text.trim().split('\n');
    t.same(idsOf(lines.map((line) => JSON.parse(line))), expected, caller);
    const unclosed = { project: { state: { in: ['public', 'open'] } } };
    const queried = await call('QUERY', '/tasks', { filter: unclosed });
    const some = seen.filter(({ state }) => state !== 'closed');
    t.same(idsOf(queried.json.data ?? queried.json), idsOf(some.map(({ id }) => ({ id }))), caller);
    // Callers may read no team.
    const ofTeam = { project: { team: { name: 'red' } } };
    const denied = { status: 403, json: { error: { code: 'FIELDS_DENIED', details: [{ path: '/name' }] } } };
    for (const filter of [ofTeam, { not: ofTeam }])
      t.match(await call('QUERY', '/tasks', { filter, limit: 100 }), denied, `${caller} ${filter}`);
    const whole = seen.filter((task) => isMember(caller, task));
    const guessed = (await get('/tasks?page=1&filter[secret][null]=false')).json.meta.total;
    t.equal(guessed, whole.length, `${caller} compares the fields that it may read`);
    const groups = (await get('/tasks?group=secret&aggregate=count')).json.data as {
      secret: string;
      count: number;
    }[];
    const counted = groups.reduce((sum, { count }) => sum + count, 0);
    t.equal(counted, seen.length, caller);
    const named = groups.filter(({ secret }) => secret !== null);
    t.equal(named.length, new Set(whole.map(({ team, state }) => team + state)).size);
    const events = (await get('/events?types=tasks.created&limit=100')).json.data as { record: string }[];
    t.same(events.length, seen.length, `${caller} ${JSON.stringify(events)}`);
    for (const task of tasks) {
      const { status, json } = await call('GET', `/tasks/${task.id}`);
      t.equal(status, reads(caller, task) ? 200 : 404, `${caller} ${JSON.stringify(task)}`);
      if (status === 200) t.equal('secret' in json, isMember(caller, task), caller);
      const nested = await call('GET', `/projects/${task.projectId}/tasks`);
      t.equal(nested.status, reads(caller, task) ? 200 : 404);
      if (nested.status === 200) t.equal(nested.json.length, 2, caller);
    }
    const { data } = (await get('/projects?page=1&limit=100&include=tasks')).json;
    const included = (data as Including[]).flatMap(({ _included }) => _included?.tasks ?? []);
    t.same(idsOf(included), expected, `${caller} includes`);
    t.equal(included.filter(({ secret }) => secret !== undefined).length, whole.length);
  }
});

t.test('callers write what the rules permit, before and after the change', async (t) => {
  const { calls, tasks } = await open(t);
  const denied = (caller: string, task: Task) => (reads(caller, task) ? 403 : 404);
  for (const caller of CALLERS) {
    const call = calls[caller]!;
    for (const task of tasks) {
      const shown = `${caller} ${JSON.stringify(task)}`;
      const patch = (body: JsonObject) => call('PATCH', `/tasks/${task.id}`, body);
      const isChanged = reads(caller, task) && changes(caller, task);
      t.equal((await patch({ title: 'changed' })).status, isChanged ? 200 : denied(caller, task), shown);
      const foreign = tasks.find((each) => !reads(caller, each))!;
      const moved = isChanged ? 422 : denied(caller, task);
      t.equal((await patch({ projectId: foreign.projectId })).status, moved, `${shown} to a hidden project`);
      const hidden = await patch({ secret: `of ${caller}` });
      const isWhole = reads(caller, task) && removes(caller, task);
      t.equal(hidden.status, isWhole ? 200 : denied(caller, task), `${shown}: ${hidden.text}`);
      if (isChanged && !isWhole) t.equal(hidden.json.error.code, 'FIELDS_DENIED');
    }
    const ids = tasks.filter((task) => reads(caller, task)).map(({ projectId }) => projectId);
    for (const task of tasks.filter(({ author }) => author === 'ann')) {
      const made = await call('POST', '/tasks', { title: 'new', projectId: task.projectId });
      const isHidden = !ids.includes(task.projectId);
      t.equal(made.status, isHidden ? 422 : isMember(caller, task) ? 201 : 403, `${caller}: ${made.text}`);
      if (made.status === 201) t.equal(made.json.authorId, caller);
    }
    const first = tasks.find((task) => isMember(caller, task)) ?? tasks[0]!;
    const other = tasks.find((task) => !changes(caller, task) && reads(caller, task));
    if (other) {
      const change = ({ id }: Task) => ({ method: 'PATCH', path: `/tasks/${id}`, body: { title: 'batch' } });
      const batch = await call('POST', '/batch', { operations: [change(first), change(other)] });
      t.notMatch(batch.text, /"status":200.*"status":200/, `${caller} changes all or none`);
      const bulk = await call('PATCH', '/tasks?filter[title][ne]=none', { title: 'bulk' });
      t.equal(bulk.status, 403, `${caller}: ${bulk.text}`);
    }
  }
  for (const caller of CALLERS)
    for (const task of tasks) {
      const { status } = await calls[caller]!('DELETE', `/tasks/${task.id}`);
      const isRemoved = reads(caller, task) && removes(caller, task);
      t.equal(status, isRemoved || !reads(caller, task) ? 204 : 403, `${caller} ${JSON.stringify(task)}`);
      if (isRemoved) tasks.splice(tasks.indexOf(task), 1, { ...task, team: 'green', state: 'deleted' });
    }
});

const NEXT: JsonObject = { next: true };
const MANY: JsonObject = {
  ...{ type: 'array', maxItems: 9, uniqueItems: true },
  items: { ...parent('people'), 'x-on-delete': 'remove' },
};

/** Members of a declaration with rules that Citus refuses, and the place and the reason. */
const REFUSED: readonly (readonly [member: JsonObject, more: JsonObject, reason: RegExp])[] = [
  [
    { title: { ...text, 'x-search': 'words' } },
    {},
    /title\/x-search: on Citus a search finds parts of fields/,
  ],
  [
    { number: { type: 'integer', 'x-index': true, 'x-set': NEXT } },
    {},
    /x-set: on Citus there are no numbers/,
  ],
  [{ memberIds: MANY }, {}, /memberIds\/items\/x-references: on Citus an array refers to no records/],
  [{}, { ids: 'client' }, /\/x-collection\/ids: on Citus clients cannot choose ids/],
  [{}, { history: true }, /\/x-collection\/history: on Citus events do not store/],
  [{ a: text, b: text }, { unique: [['a', 'b']] }, /unique\/0: on Citus only the records of one parent/],
];

t.test('the check refuses on Citus what the start refuses, with the place and the reason', async (t) => {
  const check = (properties: JsonObject, more: JsonObject, env: Record<string, string>) => {
    const access = [{ can: 'read', where: { owner: '$caller' } }, admin];
    const fields = { owner: text, ...properties };
    const notes = { type: 'object', properties: fields, 'x-collection': { access, ...more } };
    const people = { type: 'object', properties: { name: text } };
    const COLLECTIONS = declare(t, { 'people.json': people, 'notes.json': notes as JsonObject });
    return plinth(t, ['collections', 'check'], { COLLECTIONS, ...env });
  };
  const [citus, postgresql] = ['citus', 'postgresql'].map((engine) => ({
    DATABASE_ENGINE: engine,
    DATABASE_URL: 'postgres://127.0.0.1:1/none',
  }));
  t.equal((await check({}, {}, citus!)).code, 0);
  for (const [properties, more, reason] of REFUSED) {
    const { code, err } = await check(properties, more, citus!);
    t.equal(code, 78, err);
    t.match(err, reason);
    t.equal((await check(properties, more, postgresql!)).code, 0, 'on one PostgreSQL it is possible');
  }
});
