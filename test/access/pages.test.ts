import { sqlOf } from '../support/sql.js';
import t from '../support/test.js';
import { words } from '../support/words.js';
import { openTracker } from './open-tracker.js';

/** More issues than a shared statement counts. */
const MANY = 2100;

const fill = (project: string) => `
  alter table issues disable trigger user;
  insert into issues (id, updated_at, doc, title, project_id, status)
  select id, now(), format('{"id":"%s","title":"many","projectId":"%s","status":"open","created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-01-01T00:00:00.000Z","_version":1}', id, project), 'many', project, 'open'
  from (select gen_random_uuid() as id, '${project}'::uuid as project from generate_series(1, ${MANY})) as issue;
  alter table issues enable trigger user`;

t.test('pages of several callers have the records and fields of each', async (t) => {
  const { service, operator, made, user } = await openTracker(t);
  /** How many statements have read pages of issues for several callers. */
  const statements = async () => {
    const { text } = await operator('GET', '/metrics');
    const line = text
      .split('\n')
      .find((each) => /^plinth_db_batch_size_count.*("page".*"issues"|"issues".*"page")/.test(each));
    return Number(line?.split(' ').at(-1) ?? 0);
  };
  const [owner, member, both, outsider] = await Promise.all(
    ['owner', 'member', 'both', 'outsider'].map((name) => user(name)),
  );
  const callers = [owner!, member!, both!, outsider!];
  const teams = [
    await made('/teams', { name: 'first', ownerId: owner!.id }),
    await made('/teams', { name: 'second', ownerId: owner!.id }),
  ];
  const memberships = new Map<string, string>();
  for (const [who, team, role] of [
    [owner, 0, 'owner'],
    [member, 0, 'member'],
    [both, 0, 'guest'],
    [both, 1, 'owner'],
  ] as const)
    memberships.set(
      `${who!.id} ${team}`,
      await made('/memberships', { teamId: teams[team]!, userId: who!.id, role }),
    );
  const projects = [
    await made('/projects', { title: 'apple', teamId: teams[0]! }),
    await made('/projects', { title: 'pear', teamId: teams[1]! }),
  ];
  for (const [at, projectId] of [0, 0, 1, 0, 1, 0].map((at) => projects[at]!).entries())
    await made('/issues', {
      projectId,
      title: `${(at * 5) % 7} "\\${at}`,
      secret: `secret ${at}`,
      more: { at },
    });
  const paths = words(`
    /issues?page=1&limit=2 /issues?page=2&limit=2 /issues?page=9&limit=2
    /issues?page=1&sort=title&order=asc /issues?page=1&sort=created_at&order=desc
    /issues?page=1&sort=secret&order=desc /projects?page=1&sort=title&order=desc /teams?page=1
    /memberships?page=1
  `);
  const readAll = (more = '') =>
    Promise.all(
      paths.flatMap((path) => callers.map(async ({ call }) => (await call('GET', path + more)).json)),
    );
  const begun = await statements();
  const before = await readAll();
  t.ok((await statements()) > begun, 'pages share statements');
  t.ok((await statements()) < begun + 20, 'of 24 pages of issues that have no statement of their own');
  const alone = await readAll('&filter[created_at][gt]=2020-01-01');
  t.same(
    before.map(({ data, meta }) => [data, meta]),
    alone.map(({ data, meta }) => [data, meta]),
    'with a condition, each page has a statement of its own',
  );
  const secrets = before.map(
    ({ data }) => data.flatMap(({ secret }: { secret?: string }) => secret ?? []).length,
  );
  t.same(secrets.slice(12, 16), [4, 0, 2, 0], 'the fields of each caller');
  t.same(
    before.slice(0, 4).map(({ meta }) => meta.total),
    [4, 4, 6, 0],
    'the records of each caller',
  );
  const sql = sqlOf(t, service.databaseUrl);
  await sql.unsafe(fill(projects[1]!));
  const totals = async () =>
    Promise.all(
      callers.map(async ({ call }) => (await call('GET', '/issues?page=1&limit=2')).json.meta.total),
    );
  t.same(await totals(), [4, 4, 6 + MANY, 0], 'more than a shared statement counts');
  t.same(await totals(), [4, 4, 6 + MANY, 0]);
  for (const end of [`${both!.id} 1`, `${member!.id} 0`])
    t.equal((await owner!.call('DELETE', `/memberships/${memberships.get(end)}`)).status, 204);
  t.same(await totals(), [4, 0, 4, 0], 'a membership that ends takes its records away at once');
});

t.test('pages with large documents, and those of a slow caller, do not share a statement', async (t) => {
  const { service, made, user } = await openTracker(t);
  const [large, slow, other] = await Promise.all(['large', 'slow', 'other'].map((name) => user(name)));
  const callers = [large!, slow!, other!];
  const projects: string[] = [];
  for (const { id } of callers) {
    const teamId = await made('/teams', { name: 'team', ownerId: id });
    await made('/memberships', { teamId, userId: id, role: 'member' });
    projects.push(await made('/projects', { title: 'project', teamId }));
  }
  for (const size of [10, 70_000])
    await made('/issues', { projectId: projects[0]!, title: `${size}`, secret: 's', text: 'x'.repeat(size) });
  for (const projectId of projects.slice(1))
    await made('/issues', { projectId, title: 'small', secret: 's' });
  const readAll = () => Promise.all(callers.map(({ call }) => call('GET', '/issues?page=1')));
  for (let round = 0; round < 2; round++) {
    const [first, ...others] = await readAll();
    t.same(
      first!.json.data.map(({ title, text, secret }: Record<string, string>) => [
        title,
        text?.length,
        secret,
      ]),
      [
        ['10', 10, undefined],
        ['70000', 70_000, undefined],
      ],
    );
    t.equal(first!.json.meta.total, 2);
    for (const { json } of others) t.same([json.data[0].title, json.meta.total], ['small', 1]);
  }
  const sql = sqlOf(t, service.databaseUrl);
  // The statement ends as one that takes too long does, whatever the time.
  await sql.unsafe(`alter table memberships rename to stored;
    create function public_collections.too_slow() returns boolean language plpgsql
      as 'begin raise query_canceled; end';
    create view public_collections.memberships as
    select * from stored where user_id <> '${slow!.id}' or public_collections.too_slow()`);
  t.same(
    (await readAll()).map(({ status }) => status),
    [200, 503, 200],
    'the memberships of one caller take too long',
  );
});
