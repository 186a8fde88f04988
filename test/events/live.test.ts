import type { Json, JsonObject } from '../../src/json.js';
import { comparedColumn, operatorsOf } from '../../src/list/condition.js';
import { conditionName } from '../../src/list/query-names.js';
import { fulfils } from '../list/evaluator.js';
import { filters } from '../list/filters.js';
import { DECLARATIONS, type Draw, drawing, fill, RELATIONS, WORDS } from '../list/tracker.js';
import { callersOf, making } from '../support/callers.js';
import { CITUS_URL } from '../support/citus.js';
import { declare } from '../support/collections.js';
import { makeKey } from '../support/credentials.js';
import { ADMIN, declared, reference, text, withAccess } from '../support/declared.js';
import { type TestService, testService } from '../support/service.js';
import { SCHEMA, sqlOf } from '../support/sql.js';
import t, { type Test } from '../support/test.js';
import { notInDefault, seedOf, times } from '../support/thorough.js';
import { until, untilLength } from '../support/until.js';
import { follow, valuesIn } from './follow.js';

const MERGE = { 'content-type': 'application/merge-patch+json' };

interface Envelope extends JsonObject {
  type: string;
  subject: string;
  sequence: string;
}

const start = (t: Test, env: Record<string, string> = {}) =>
  testService(t, { COLLECTIONS: declare(t, DECLARATIONS), MIGRATE: 'auto', ...env });

/** All events after a cursor, page by page. */
async function readAll({ send }: TestService, cursor: string, rest: string, limit = 1000) {
  const all: Envelope[] = [];
  for (let next: string | null = `/events?after=${cursor}${rest}&limit=${limit}`; next; ) {
    const { status, json } = await send('GET', next);
    if (status !== 200) throw new Error(JSON.stringify(json));
    all.push(...json.data);
    next = json.meta.more ? json.links.next : null;
  }
  return all;
}

/** The position after everything that was written. */
async function position({ send, databaseUrl }: TestService, t: Test): Promise<string> {
  const sql = sqlOf(t, databaseUrl);
  const [last] = await sql`select coalesce(max(seq), 0)::integer as seq from events`;
  return until(
    'all events are final',
    async () => String((await send('GET', '/events?after=now')).json.meta.cursor),
    (cursor) => Number.parseInt(cursor.slice(0, 11), 36) >= last!.seq,
  );
}

/** The parameters of a filter in the address of a list; undefined: it is not valid. */
async function parametersOf({ send }: TestService, name: string, filter: JsonObject) {
  const { status, headers } = await send('QUERY', `/${name}`, { body: { filter, limit: 1 } });
  if (status !== 200 || headers.location === undefined) return undefined;
  const given = new URLSearchParams(headers.location.slice(headers.location.indexOf('?') + 1));
  return [...given]
    .filter(([key]) => key.startsWith('filter['))
    .map(([key, value]) => `&${encodeURIComponent(key)}=${encodeURIComponent(value)}`)
    .join('');
}

const idIn = ({ subject }: Envelope) => subject.slice(subject.lastIndexOf('/') + 1);
const collectionIn = ({ type }: Envelope) => type.slice(0, type.indexOf('.'));

const matchOf = ({ sequence, match }: Envelope) => `${sequence} ${match}`;

type State = JsonObject | undefined;

/** The records before and after each event, from the documents in the events alone. */
function replayed(initial: Readonly<Record<string, readonly JsonObject[]>>, events: readonly Envelope[]) {
  const records = new Map(
    Object.values(initial)
      .flat()
      .map(({ _links, ...record }) => [String(record.id), record as JsonObject]),
  );
  const changes = events.map((event): [Envelope, State, State] => {
    const before = records.get(idIn(event));
    const after = event.data as JsonObject | undefined;
    if (after) records.set(idIn(event), after);
    else records.delete(idIn(event));
    return [event, before, after];
  });
  const names = new Map(
    Object.entries(initial).flatMap(([name, each]) => each.map(({ id }) => [String(id), name])),
  );
  for (const event of events) names.set(idIn(event), collectionIn(event));
  const final: Record<string, JsonObject[]> = {};
  for (const name of Object.keys(initial)) final[name] = [];
  for (const [id, record] of records) final[names.get(id)!]!.push(record);
  return { changes, final };
}

/** Changes records of all collections: some lose fields, some are deleted, with those that refer to them. */
async function change({ send }: TestService, draw: Draw, present: Map<string, string[]>, count: number) {
  const { next, pick, maybe } = draw;
  const idOf = (name: string): Json => pick([...present.get(name)!, null as never]);
  const changesOf: Readonly<Record<string, () => JsonObject>> = {
    people: () => ({ name: pick(WORDS) }),
    teams: () => ({ rank: next(5), ownerId: idOf('people') }),
    memberships: () => ({ role: pick(['owner', 'member', 'guest']), teamId: idOf('teams') }),
    projects: () => ({
      tags: [pick(WORDS)],
      due: `2026-0${1 + next(9)}-01T00:00:00+02:00`,
      teamId: idOf('teams'),
    }),
    issues: () => ({
      status: pick(['open', 'closed', null]),
      estimate: next(6) - 2,
      projectId: idOf('projects'),
    }),
    comments: () => ({ likes: next(4), issueId: idOf('issues') }),
  };
  for (let n = 0; n < count; n++) {
    const name = pick(Object.keys(changesOf));
    const fields = changesOf[name]!();
    const ids = present.get(name)!;
    if (ids.length === 0 || maybe(0.2)) {
      const body = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
      const { status, json } = await send('POST', `/${name}`, { body });
      if (status === 201) ids.push(json.id);
      continue;
    }
    const id = pick(ids);
    if (maybe(0.1) && ids.length > 4) {
      await send('DELETE', `/${name}/${id}`);
      ids.splice(ids.indexOf(id), 1);
    } else await send('PATCH', `/${name}/${id}`, { body: fields, headers: MERGE });
  }
}

const idsIn = (data: Readonly<Record<string, readonly JsonObject[]>>) =>
  new Map(Object.entries(data).map(([name, records]) => [name, records.map(({ id }) => String(id))]));

const OF_RELATIONS = (filter: JsonObject): boolean =>
  Object.entries(filter).some(([name, value]) =>
    Object.values(RELATIONS).some((relations) => name in relations && name !== 'issues')
      ? true
      : typeof value === 'object' &&
        value !== null &&
        (JSON.stringify(value).match(/"(some|none|every)"/) !== null ||
          (Array.isArray(value) ? value : [value]).some(
            (each) => typeof each === 'object' && OF_RELATIONS(each as JsonObject),
          )),
  );

t.test('drawn conditions match what JavaScript says before and after', { skip: notInDefault }, async (t) => {
  const service = await start(t);
  const seed = seedOf(t);
  const draw = drawing(seed);
  const data = await fill(service, draw);
  const cursor = await position(service, t);
  await change(service, draw, idsIn(data), times(100, 300, 2000));
  await position(service, t);
  const { changes, final } = replayed(data, await readAll(service, cursor, ''));
  const drawFilter = filters(data, draw);
  const seen: Record<string, number> = { entered: 0, changed: 0, left: 0 };
  // Chance may draw conditions that no change fulfils: then up to ten times as many are drawn.
  const isUnseen = () => Object.values(seen).includes(0);
  const filtersToDraw = times(25, 300, 5000);
  for (let n = 0; n < filtersToDraw || (isUnseen() && n < 10 * filtersToDraw); n++) {
    const name = draw.pick(Object.keys(RELATIONS));
    const filter = drawFilter(name, 2, 2);
    const rest = await parametersOf(service, name, filter);
    if (rest === undefined) continue;
    const holds = (record: State) => record !== undefined && fulfils(final, RELATIONS, name, record, filter);
    const expected = changes.flatMap(([event, before, after]) => {
      if (collectionIn(event) !== name) return [];
      if (!holds(before) && !holds(after)) return [];
      const match = !holds(after) ? 'left' : holds(before) ? 'changed' : 'entered';
      seen[match]!++;
      return [`${event.sequence} ${match}`];
    });
    const limit = draw.pick([1000, 100, 7]);
    const found = await readAll(service, cursor, `&types=${name}.*${rest}`, limit);
    t.same(found.map(matchOf), expected, `${name}: ${JSON.stringify(filter)}`);
  }
  for (const [match, count] of Object.entries(seen)) t.ok(count > 0, `${count} ${match}`);
});

t.test('streams with conditions miss and repeat nothing over disconnects', async (t) => {
  const service = await start(t);
  const seed = seedOf(t);
  const draw = drawing(seed);
  const data = await fill(service, draw);
  const cursor = await position(service, t);
  const drawFilter = filters(data, draw);
  const readers: { name: string; rest: string; received: Envelope[]; last: string; stop: () => void }[] = [];
  const open = async (reader: (typeof readers)[number]) => {
    const url = `${service.url}/events?after=${cursor}&types=${reader.name}.*${reader.rest}`;
    const stream = await follow(t, url, { 'last-event-id': reader.last });
    t.equal(stream.status, 200);
    reader.stop = () => {
      stream.leave();
      reader.received.push(...stream.messages.map(({ data }) => data as Envelope));
      reader.last = stream.lastId() || reader.last;
    };
  };
  while (readers.length < times(8, 24)) {
    const name = draw.pick(Object.keys(RELATIONS));
    const filter = drawFilter(name, 0, 2);
    if (OF_RELATIONS(filter)) continue;
    const rest = await parametersOf(service, name, filter);
    if (rest === undefined) continue;
    // Two streams of each share their evaluations.
    for (let copy = 0; copy < 2; copy++)
      readers.push({ name, rest, received: [], last: cursor, stop: () => undefined });
  }
  for (const reader of readers) await open(reader);
  const present = idsIn(data);
  for (let round = 0; round < times(4, 6); round++) {
    await change(service, draw, present, times(20, 40));
    for (const reader of readers)
      if (draw.maybe(0.4)) {
        reader.stop();
        await open(reader);
      }
  }
  const end = await position(service, t);
  for (const reader of readers) {
    const query = `&types=${reader.name}.*${reader.rest}`;
    const expected = (await readAll(service, cursor, query)).map(matchOf);
    reader.stop();
    const rest = await readAll(service, reader.last, query);
    t.same([...reader.received, ...rest].map(matchOf), expected, query);
    t.ok(reader.last <= end);
  }
});

/** A service with one open issue of one project. */
async function issue(t: Test, env: Record<string, string> = {}) {
  const service = await start(t, env);
  const { send } = service;
  const project = (await send('POST', '/projects', { body: { title: 'one' } })).json.id as string;
  const other = (await send('POST', '/projects', { body: { title: 'two' } })).json.id as string;
  const cursor = await position(service, t);
  const body = { projectId: project, title: 'a', status: 'open' };
  const id = (await send('POST', '/issues', { body })).json.id as string;
  const patch = (body: JsonObject) => send('PATCH', `/issues/${id}`, { body, headers: MERGE });
  return { service, send, project, other, cursor, id, patch };
}

t.test('a stream says that a record entered, changed and left', async (t) => {
  const { service, send, project, other, cursor, id, patch } = await issue(t);
  const query = `types=issues.*&filter[projectId]=${project}&filter[status]=open`;
  const stream = await follow(t, `${service.url}/api/v2/events?after=${cursor}&${query}`);
  await patch({ title: 'b' });
  await patch({ status: 'closed' });
  await patch({ title: 'unseen' });
  await patch({ status: 'open' });
  await patch({ projectId: other });
  await patch({ projectId: project });
  await send('DELETE', `/issues/${id}`);
  await send('POST', '/issues', { body: { projectId: other, title: 'z', status: 'open' } });
  await untilLength('all is published', () => stream.messages, 7);
  t.same(
    stream.messages.map(({ event, data }) => `${event} ${data.match} ${data.data?.title}`),
    [
      'issues.created entered a',
      'issues.updated changed b',
      'issues.updated left b',
      'issues.updated entered unseen',
      'issues.updated left unseen',
      'issues.updated entered unseen',
      'issues.deleted left undefined',
    ],
  );
});

t.test('pages, their links, a long poll and a ticket have the conditions as well', async (t) => {
  const { service, send, project, cursor, patch } = await issue(t);
  const rest = `&types=issues.*&filter[project][title]=one&filter[projectId]=${project}`;
  await position(service, t);
  for (const version of ['v1', 'v2']) {
    const { json } = await send('GET', `/api/${version}/events?after=${cursor}${rest}&limit=5`);
    t.match(json.data, [{ type: 'issues.created', match: 'entered' }]);
    t.match(decodeURIComponent(json.links.next), `${rest}&limit=5`);
    t.same((await send('GET', json.links.next)).json.data, []);
  }
  const headers = { accept: 'application/cloudevents-batch+json' };
  const batch = await send('GET', `/events?after=${cursor}${rest}`, { headers });
  t.match(batch.json, [{ match: 'entered' }]);
  const now = await position(service, t);
  const waiting = send('GET', `/events?after=${now}${rest}`, { headers: { prefer: 'wait=60' } });
  await send('POST', '/issues', { body: { title: 'of no project' } });
  await patch({ title: 'changed' });
  const [changed] = (await waiting).json.data;
  t.match(changed, { type: 'issues.updated', match: 'changed', data: { title: 'changed' } });
  const { ticket } = (await send('POST', '/events/tickets')).json;
  const stream = await follow(t, `${service.url}/events?ticket=${ticket}&after=${now}${rest}`);
  await untilLength('the change is published', () => stream.messages, 1);
  t.equal(stream.messages[0]!.data.match, 'changed');
});

t.test('conditions that are not those of one collection are refused', async (t) => {
  const { send } = await start(t);
  const many = Array.from({ length: 51 }, (_, n) => `&filter[or][${n}][status]=${n}`).join('');
  for (const [query, message, code = 'INVALID_QUERY'] of [
    ['filter[status]=open', /types.*of one/, 'BAD_REQUEST'],
    ['types=issues.*,teams.*&filter[status]=open', /types.*of one/, 'BAD_REQUEST'],
    ['types=issues.*&filter[none]=1', /names no field/],
    ['types=issues.*&filter[estimate]=many', /must be a number/],
    ['types=issues.*&filter[estimate][like]=1', /operators/],
    ['types=issues.*&filter=1', /must be like/],
    [`types=issues.*&filter[${encodeURIComponent("title'; drop table issues --")}]=1`, /names no field/],
    ['types=issues.*&filter[title][contains]=%00', /U\+0000/],
    [`types=issues.*&filter${'[partOf]'.repeat(6)}[status]=open`, /more than 5 relations/],
    [`types=issues.*${many}`, /more than 50/],
  ] as const) {
    const { status, json } = await send('GET', `/events?${query}`);
    t.match({ status, error: json.error }, { status: 400, error: { code, message } }, query);
  }
});

/** A value of each type of columns. */
const VALUES: Readonly<Record<string, string>> = {
  text: '2026-01-31T12:00:00Z',
  'double precision': '1',
  boolean: 'true',
  uuid: '01890000-0000-7000-8000-000000000000',
  timestamptz: '2026-01-31T12:00:00Z',
};

t.test('each operator of lists can be in the conditions of events', async (t) => {
  const { service, send, cursor } = await issue(t);
  await send('POST', '/projects', { body: { title: 'three' } });
  const queries = service.collections
    .filter(({ resource: { name } }) => /^(issues|projects)$/.test(name))
    .flatMap(({ resource }) =>
      [...operatorsOf(resource)].flatMap(([field, operators]) =>
        [...operators].map((operator) => {
          const value = VALUES[comparedColumn(resource, field)!.type.replace('[]', '')]!;
          const given = operator === 'null' ? 'true' : operator === 'between' ? `${value},${value}` : value;
          const condition = new URLSearchParams({ [conditionName(field, operator)]: given });
          return `types=${resource.name}.*&${condition}`;
        }),
      ),
    );
  for (const query of queries)
    t.equal((await send('GET', `/events?after=${cursor}&${query}`)).status, 200, query);
});

t.test('values that would be SQL or patterns are compared as they are', async (t) => {
  const { service, send, cursor } = await issue(t);
  const title = `'; select "1" \\ $1 % _ \u{1F600} [{`;
  await send('POST', '/issues', { body: { title, status: title.slice(0, 20) } });
  await position(service, t);
  for (const condition of [
    `filter[status]=${encodeURIComponent(title.slice(0, 20))}`,
    `filter[title][contains]=${encodeURIComponent(title)}`,
    `filter[title][contains]=${encodeURIComponent('% _')}`,
    `filter[status][prefix]=${encodeURIComponent("'; select")}`,
  ])
    t.match(await readAll(service, cursor, `&types=issues.*&${condition}`), [{ data: { title } }], condition);
});

t.test('an event of an earlier version says nothing of the record before it', async (t) => {
  const { service, send, cursor, id, patch } = await issue(t);
  await patch({ status: 'closed' });
  await patch({ title: 'b' });
  await send('DELETE', `/issues/${id}`);
  await position(service, t);
  const sql = sqlOf(t, service.databaseUrl);
  await sql`update events set former = null`;
  const found = async (status: string) => {
    const events = await readAll(service, cursor, `&types=issues.*&filter[status]=${status}`);
    return events.map(({ type, match }) => `${type.slice(7)} ${match}`);
  };
  t.same(await found('closed'), ['updated changed', 'updated changed', 'deleted left']);
  t.same(await found('open'), ['created entered', 'updated left', 'updated left', 'deleted left']);
});

t.test('former values of another type, from before a change of the declaration, are none', async (t) => {
  const { service, cursor, patch } = await issue(t);
  await patch({ estimate: 3 });
  await patch({ estimate: 4 });
  await position(service, t);
  const sql = sqlOf(t, service.databaseUrl);
  await sql`update events set former = former || ${sql.json({
    estimate: 'three',
    project_id: 'none',
    updated_at: 'never',
    is_open: [1],
  })} where former is not null`;
  const none = ['projectId][null]=false', 'isOpen][null]=false', 'updated_at][gt]=2000-01-01'];
  for (const condition of ['estimate][gte]=4', ...none])
    for (const { match } of await readAll(service, cursor, `&types=issues.*&filter[${condition}`))
      t.ok(match === 'entered' || match === 'changed', condition);
});

const notOnCitus = (reason: string) => ({ skip: CITUS_URL !== '' && reason });
const BY_SQL = notOnCitus('tables of a cluster have no triggers');
const WITH_A_VIEW = notOnCitus('a cluster distributes no view');

t.test('changes of many records by one SQL statement have their former columns', BY_SQL, async (t) => {
  const { service, cursor } = await issue(t);
  const sql = sqlOf(t, service.databaseUrl);
  await sql`insert into ${sql(SCHEMA)}.issues (id, updated_at, doc, status, estimate)
    select gen_random_uuid(), now(), '{}', 'open', n from generate_series(1, 2000) as n`;
  await sql`update ${sql(SCHEMA)}.issues set status = 'closed' where estimate is not null`;
  const rows = await sql`select count(*)::integer as events,
      count(*) filter (where former ->> 'status' = 'open' and not former ?| array['doc', 'id'])::integer as open
    from events where type = 'issues.updated'`;
  t.same([...rows], [{ events: 2000, open: 2000 }]);
  await position(service, t);
  const left = await readAll(service, cursor, '&types=issues.*&filter[status]=open&filter[estimate][lte]=10');
  t.equal(left.filter(({ match }) => match === 'left').length, 10);
});

t.test('a stream whose conditions take long delays no other', WITH_A_VIEW, async (t) => {
  const { service, send, cursor } = await issue(t, { QUERY_TIMEOUT_MS: '60000', DB_TIMEOUT_MS: '120000' });
  const assigneeId = (await send('POST', '/people', { body: { name: 'Ann' } })).json.id as string;
  const sql = sqlOf(t, service.databaseUrl);
  // Who reads people waits for this session. A lock of the table would delay the whole feed, as each transaction that writes.
  await sql`alter table ${sql(SCHEMA)}.people rename to all_people`;
  await sql`create view ${sql(SCHEMA)}.people as
    with waited as materialized (select pg_advisory_xact_lock_shared(7))
    select all_people.* from ${sql(SCHEMA)}.all_people, waited`;
  await sql`select pg_advisory_lock(7)`;
  const [slow, fast, all] = await Promise.all(
    ['&filter[assignee][name]=Ann', '&filter[status]=open', ''].map((rest) =>
      follow(t, `${service.url}/events?after=${cursor}&types=issues.*${rest}`),
    ),
  );
  for (const title of ['second', 'third'])
    await send('POST', '/issues', { body: { title, status: 'open', assigneeId } });
  for (const stream of [fast, all]) await untilLength('the other streams go on', () => stream!.messages, 3);
  t.same(slow!.messages, [], 'this one waits');
  await sql`select pg_advisory_unlock(7)`;
  await untilLength('it goes on as well', () => slow!.messages, 2);
  t.same(valuesIn(slow!, 'title'), ['second', 'third']);
  for (const { data } of slow!.messages) t.equal(data.match, 'entered');
});

t.test('streams of a process have at most 256 different conditions', async (t) => {
  const { service, send, cursor } = await issue(t);
  const address = (n: number) => `/events?after=${cursor}&types=issues.*&filter[estimate]=${n}`;
  for (let n = 0; n < 256; n++) t.equal((await follow(t, service.url + address(n))).status, 200);
  const { status, json } = await send('GET', address(256), { headers: { accept: 'text/event-stream' } });
  t.match([status, json.error], [503, { code: 'SERVICE_UNAVAILABLE', message: /conditions/ }]);
  t.equal((await follow(t, service.url + address(7))).status, 200, 'equal conditions are shared');
  t.equal((await send('GET', address(256))).status, 200, 'pages have no such bound');
});

t.test('streams share no evaluation over records that not all of their callers may read', async (t) => {
  const readers = [{ can: 'read', where: { keeper: '$caller' } }, ADMIN];
  const service = await testService(t, {
    COLLECTIONS: declare(t, {
      'boards.json': withAccess({ title: text, keeper: text }, readers, { list: 'page' }),
      'cards.json': declared({ boardId: reference('boards') }, { list: 'page' }),
    }),
    MIGRATE: 'auto',
    AUTH: 'api-key',
  });
  const made = making(t, await callersOf(service)('operator'));
  const keyOf = async (subject: string, scopes: string[]) =>
    (await makeKey(service.db, { subject, scopes })).key;
  const [ann, bob] = await Promise.all(
    ['ann', 'bob'].map(async (subject) =>
      follow(t, `${service.url}/events?types=cards.*&filter[board][title]=one`, {
        'x-api-key': await keyOf(subject, ['events:read', 'cards:read', 'boards:read']),
      }),
    ),
  );
  t.same([ann!.status, bob!.status], [200, 200]);
  const cardOf = async (keeper: string) =>
    made('/cards', { boardId: await made('/boards', { title: 'one', keeper }) });
  const expected: Record<string, string[]> = { ann: [], bob: [] };
  for (const keeper of ['ann', 'bob', 'bob', 'ann']) expected[keeper]!.push(await cardOf(keeper));
  for (const [stream, cardIds] of [[ann, expected.ann] as const, [bob, expected.bob] as const]) {
    await untilLength('the own are published', () => stream!.messages, 2);
    t.same(valuesIn(stream!, 'id'), cardIds);
  }
});
