import { MAX_PAGE_BYTES } from '../../src/collection/document.js';
import type { Json, JsonObject } from '../../src/json.js';
import { callersOf } from '../support/callers.js';
import { declare } from '../support/collections.js';
import { declared } from '../support/declared.js';
import { testService } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t from '../support/test.js';
import { seedOf, times } from '../support/thorough.js';
import { recordsIn } from '../support/words.js';
import type { Data } from './evaluator.js';
import { DECLARATIONS, type Draw, drawing, fill, RELATIONS } from './tracker.js';

/** A relation to include, with relations and fields of its records. */
interface Wanted {
  readonly name: string;
  readonly counts: boolean;
  readonly fields: readonly string[] | undefined;
  readonly include: readonly Wanted[];
}

function draws(draw: Draw) {
  const { next, pick, maybe } = draw;
  const wanted = (collection: string, steps: number): Wanted[] => {
    const relations = Object.entries(RELATIONS[collection]!);
    const names = [...new Set(Array.from({ length: 1 + next(2) }, () => pick(relations)))];
    return names.flatMap(([name, { to, field }]): Wanted[] => {
      const records = {
        name,
        counts: false,
        fields: maybe(0.3) ? ['name', 'title', 'role'].slice(next(3)) : undefined,
        include: steps > 1 && maybe(0.6) ? wanted(to, steps - 1) : [],
      };
      const count = { name, counts: true, fields: undefined, include: [] };
      if (field !== undefined || maybe(0.6)) return [records];
      return maybe(0.5) ? [count] : [records, count];
    });
  };
  return wanted;
}

/** The parameters that ask for relations. */
function parametersOf(wanted: readonly Wanted[], above = ''): readonly [string, string][] {
  const paths: string[] = [];
  const fields: [string, string][] = [];
  const visit = (each: Wanted, path: string) => {
    paths.push(each.counts ? `${path}.count` : path);
    if (each.fields) fields.push([`fields[${path}]`, each.fields.join(',')]);
    for (const below of each.include) visit(below, `${path}.${below.name}`);
  };
  for (const each of wanted) visit(each, above + each.name);
  return [['include', paths.join(',')], ...fields];
}

const numberOf = (wanted: readonly Wanted[]): number =>
  wanted.reduce((sum, { include }) => sum + 1 + numberOf(include), 0);

/** A record as docs/lists.md says that a list shows it. */
function shown(
  data: Data,
  collection: string,
  record: JsonObject,
  fields: readonly string[] | undefined,
  include: readonly Wanted[],
): JsonObject {
  const part = Object.fromEntries(
    Object.entries(record).filter(
      ([name]) => name !== '_links' && (!fields || name === 'id' || fields.includes(name)),
    ),
  );
  if (include.length === 0) return part;
  const included = include.map(({ name, counts, fields, include }): [string, Json] => {
    const { to, field, isList, referring } = RELATIONS[collection]![name]!;
    const show = (each: JsonObject) => shown(data, to, each, fields, include);
    const idsIn = (of: JsonObject, each: string) => [of[each] ?? []].flat();
    if (field !== undefined && isList) {
      const ids = [...new Set(idsIn(record, field))];
      return [name, ids.map((id) => show(data[to]!.find((each) => each.id === id)!))];
    }
    if (field !== undefined) {
      const found = data[to]!.find(({ id }) => id === record[field]);
      return [name, found ? show(found) : null];
    }
    const found = data[to]!.filter((each) => referring!.some((own) => idsIn(each, own).includes(record.id!)));
    if (counts) return [`${name}.count`, found.length];
    const first = found.toSorted((a, b) => (String(a.id) < String(b.id) ? -1 : 1)).slice(0, 20);
    return [name, first.map(show)];
  });
  return { ...part, _included: Object.fromEntries(included) };
}

const withoutLinks = ({ _links: _, ...record }: JsonObject) => record;

t.test('drawn relations, up to three steps, are included in lists and in one record', async (t) => {
  const service = await testService(t, { COLLECTIONS: declare(t, DECLARATIONS), MIGRATE: 'auto' });
  const seed = seedOf(t);
  const draw = drawing(seed);
  const data = await fill(service, draw);
  const wantedOf = draws(draw);
  for (let n = times(12, 80, 1000); n > 0; n--) {
    const collection = draw.pick(Object.keys(RELATIONS));
    const wanted = wantedOf(collection, 3);
    if (numberOf(wanted) > 10) continue;
    const own = draw.maybe(0.3) ? ['title', 'name'] : undefined;
    const query = String(
      new URLSearchParams([
        ...parametersOf(wanted),
        ...(own ? [['fields', own.join(',')] as [string, string]] : []),
      ]),
    );
    const expected = new Map(
      data[collection]!.map((record) => [record.id!, shown(data, collection, record, own, wanted)]),
    );
    const same = (records: readonly JsonObject[], form: string) => {
      for (const record of records)
        t.same(withoutLinks(record), expected.get(record.id!), `${form} ${query}`);
    };
    const page = await service.send('GET', `/${collection}?limit=5&${query}`);
    t.equal(page.status, 200, query);
    t.ok(page.json.data.length > 0);
    same(page.json.data, 'page');
    const version2 = await service.send('GET', `/api/v2/${collection}?limit=4&sort=-created_at&${query}`);
    same(version2.json.data, 'version 2');
    const { id } = draw.pick(data[collection]!);
    same([(await service.send('GET', `/${collection}/${id}?${query}`)).json], 'one record');
    const body = {
      include: parametersOf(wanted)[0]![1].split(','),
      fields: [
        ...(own ?? []),
        ...parametersOf(wanted)
          .slice(1)
          .map(([name, fields]) => ({ [name.slice(7, -1)]: fields.split(',') })),
      ],
      limit: 3,
    };
    const { fields, ...rest } = body;
    const queried = await service.send('QUERY', `/${collection}`, { body: fields.length > 0 ? body : rest });
    t.ok(queried.json.data.length > 0, queried.text);
    same(queried.json.data, 'QUERY');
    const headers = { accept: 'application/x-ndjson' };
    const lines = await service.send('GET', `/${collection}?limit=2&${query}`, { headers });
    same(recordsIn(lines.text), 'NDJSON');
  }
});

t.test('what cannot be included is 400 and says why; another collection needs permission', async (t) => {
  const env = { COLLECTIONS: declare(t, DECLARATIONS), MIGRATE: 'auto', AUTH: 'api-key' };
  const as = callersOf(await testService(t, env));
  const [admin, some] = [await as('root'), await as('a', 'issues:read', 'projects:read', 'comments:read')];
  for (const [query, parameter, message] of [
    ['include=project.owner', 'include', /no relation of projects, owner: there are team, issues/],
    ['include=project.count', 'include', /no relation of projects, count/],
    ['include=comments.count.author', 'include', /no relation of comments, count/],
    ['include=project.', 'include', /no relation of projects, :/],
    ['include=partOf.partOf.partOf.partOf', 'include', /more than 3 relations/],
    [
      'include=partOf.partOf.partOf,project.team.owner,assignee.memberships.team,comments.author,issues',
      'include',
      /more than 10 names/,
    ],
    ['fields[project]=title', 'fields[project]', /names no relation of `include`/],
    ['include=project&fields[project.team]=title', 'fields[project.team]', /names no relation/],
  ] as const) {
    for (const path of [
      `/issues?${query}`,
      `/api/v2/issues?${query}`,
      `/issues/01900000-0000-7000-8000-000000000000?${query}`,
    ]) {
      const { status, json } = await admin('GET', path);
      t.equal(status, 400, path);
      t.equal((json.error ?? json).code, 'INVALID_QUERY', path);
      t.match(json.error?.message ?? json.detail, message, path);
      if (json.error) t.equal(json.error.details.parameter, parameter, path);
    }
  }
  for (const [include, status] of [
    ['project,comments.count', 200],
    ['project.team', 403],
    ['comments.author', 403],
    ['project.issues.assignee', 403],
    ['assignee', 403],
    ['project.team.memberships.count', 403],
  ] as const)
    for (const path of ['/issues', '/api/v2/issues', '/issues/01900000-0000-7000-8000-000000000000'])
      t.equal(
        (await some('GET', `${path}?include=${include}`)).status,
        status === 200 && path.length > 20 ? 404 : status,
        `${path} ${include}`,
      );
});

t.test('related records of related ones are bounded in bytes', async (t) => {
  const service = await testService(t, { COLLECTIONS: declare(t, DECLARATIONS), MIGRATE: 'auto' });
  const create = async (name: string, body: JsonObject) => {
    const { status, json } = await service.send('POST', `/${name}`, { body });
    if (status !== 201) throw new Error(JSON.stringify(json));
    return json.id as string;
  };
  const projectId = await create('projects', { title: 'p' });
  // One record of 40 kB is related to each of these by way of their project, so that a page would repeat it.
  for (let n = 0; n < 20; n++)
    await create('issues', { projectId, title: 'large', extra: 'x'.repeat(40_000) });
  // Each record of the response has at most a megabyte of related records, and one record more.
  for (const [path, records] of [
    ['/issues?limit=20&include=project.issues', 20],
    ['/projects?include=issues.project.issues', 1],
    [`/projects/${projectId}?include=issues.project.issues`, 1],
  ] as const) {
    const { status, text } = await service.send('GET', path);
    t.equal(status, 200, path);
    t.ok(text.includes('"_included"'), path);
    t.ok(text.length < records * 2 * MAX_PAGE_BYTES, `${text.length} characters: ${path}`);
  }
});

t.test('a stored reference that is no id leads to no record, and spoils no page', async (t) => {
  const tagId = { type: 'string', format: 'uuid', 'x-references': 'tags' };
  const COLLECTIONS = declare(t, {
    'tags.json': declared({ name: { type: 'string', maxLength: 100 } }),
    'notes.json': declared({ tagIds: { type: 'array', maxItems: 9, items: tagId }, tagId }),
  });
  const { send, databaseUrl } = await testService(t, { COLLECTIONS, MIGRATE: 'auto' });
  const tag = (await send('POST', '/tags', { body: { name: 'red' } })).json.id;
  const ids = [];
  for (let n = 0; n < 4; n++)
    ids.push((await send('POST', '/notes', { body: { tagIds: [tag], tagId: tag } })).json.id);
  const sql = sqlOf(t, databaseUrl);
  // As `--allow-violations` leaves records of a field that becomes a reference.
  const stored = [`["no id","${tag}","${tag}"]`, '"no list"', '[1,null,{}]'];
  for (const [at, value] of stored.entries())
    await sql`update notes set doc = replace(replace(doc, ${`"tagIds":["${tag}"]`}, ${`"tagIds":${value}`}), ${`"tagId":"${tag}"`}, ${'"tagId":"no id"'}) where id = ${ids[at]!}`;
  for (const [path, one] of [
    ['/notes', false],
    ['/notes?page=1', false],
    ['/api/v2/notes', false],
    [`/notes/${ids[0]}`, true],
    [`/notes/${ids[1]}`, true],
  ] as const) {
    const { status, json } = await send('GET', `${path}${path.includes('?') ? '&' : '?'}include=tags,tag`);
    t.equal(status, 200, path);
    const records = (one ? [json] : (json.data ?? json)) as {
      id: string;
      _included: Record<string, unknown>;
    }[];
    for (const { id, _included: found } of records) {
      const at = ids.indexOf(id);
      const names = (found.tags as { name: string }[]).map(({ name }) => name);
      t.same(names, at === 0 || at === 3 ? ['red'] : [], `${path} ${at}`);
      t.same((found.tag as { name: string } | null)?.name, at === 3 ? 'red' : undefined, `${path} ${at}`);
    }
  }
});
