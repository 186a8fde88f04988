import type postgres from 'postgres';
import { randomOf } from '../support/runner/random.js';
import { openSql } from '../support/sql.js';
import t, { type Test } from '../support/test.js';
import { seedOf, times } from '../support/thorough.js';
import { until } from '../support/until.js';
import { openTracker } from './open-tracker.js';

const ROLES = ['owner', 'member', 'guest'];

interface Caller {
  readonly id: string;
  readonly call: Awaited<ReturnType<Awaited<ReturnType<typeof openTracker>>['user']>>['call'];
}

/** A tracker with two teams, in which callers have different roles, and a connection to its database. */
async function openTeams(t: Test) {
  const tracker = await openTracker(t);
  const { service, operator, made, user } = tracker;
  const callers: Caller[] = await Promise.all(['ann', 'bob', 'eve'].map((name) => user(name)));
  const teams = await Promise.all(
    ['one', 'two'].map((name) => made('/teams', { name, ownerId: callers[0]!.id })),
  );
  for (const [at, { id }] of callers.slice(0, 2).entries())
    for (const teamId of teams) await made('/memberships', { teamId, userId: id, role: ROLES[at]! });
  const projects: string[] = [];
  for (const teamId of teams) projects.push(await made('/projects', { title: 'a project', teamId }));
  for (let n = 0; n < 6; n++)
    await made('/issues', { title: `issue ${n}`, projectId: projects[n % 2]!, secret: `secret ${n}` });
  const sql = openSql(service.databaseUrl, { max: 2, onnotice: () => undefined });
  t.teardown(() => sql.end());
  /** How often a kind of shared statement has run. */
  const count = async (operation: string, collection: string) => {
    const { text } = await operator('GET', '/metrics');
    const line = text
      .split('\n')
      .find(
        (each) =>
          each.startsWith('plinth_db_batch_size_count') &&
          each.includes(`"${operation}"`) &&
          each.includes(`"${collection}"`),
      );
    return Number(line?.split(' ').at(-1) ?? 0);
  };
  return { ...tracker, callers, teams, projects, sql, count };
}

/** The issues that a caller may read, oldest first: of each the title, and whether the caller may read its secret. */
async function expected(sql: postgres.Sql, { id }: Caller): Promise<unknown[]> {
  const rows = await sql`
    select i.id, i.title, coalesce(bool_or(m.role = 'owner'), false) as is_owner
    from issues i join projects p on p.id = i.project_id join memberships m on m.team_id = p.team_id
    where m.user_id = ${id} group by i.id, i.title order by i.id`;
  return rows.map((row) => [row.id, row.title, row.is_owner]);
}

async function shown({ call }: Caller, path: string): Promise<{ total: number; issues: unknown[] }> {
  const { json } = await call('GET', path);
  const issues = json.data.map(({ id, title, secret }: Record<string, unknown>) => [
    id,
    title,
    secret !== undefined,
  ]);
  return { total: json.meta.total, issues };
}

t.test('a page that nothing has changed is not read again', async (t) => {
  const { callers, count, made, teams } = await openTeams(t);
  const [ann] = callers as [Caller];
  const paths = ['/issues?page=1', '/issues?page=1&limit=2', '/issues?page=1&sort=title', '/issues'];
  for (const path of paths) {
    const before = await shown(ann, path);
    // The service itself may write meanwhile.
    await until(
      'no statement reads the page',
      async () => {
        const [pages, states] = [await count('page', 'issues'), await count('state', 'database')];
        for (let n = 0; n < 5; n++) t.same(await shown(ann, path), before);
        return [(await count('page', 'issues')) - pages, (await count('state', 'database')) - states];
      },
      ([pages, states]) => pages === 0 && states === 5,
    );
    const pages = await count('page', 'issues');
    await made('/projects', { title: 'another project', teamId: teams[0]! });
    t.same(await shown(ann, path), before);
    t.ok((await count('page', 'issues')) > pages, `${path}: after a write of anything it is read again`);
  }
});

t.test('a page shows each change at once, also one of another process', async (t) => {
  const { callers, sql, projects, teams } = await openTeams(t);
  const seed = seedOf(t);
  const random = randomOf(seed);
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)]!;
  const issue = async () => pick((await sql`select id from issues`).map(({ id }) => String(id)));
  const titled = async (title: string, by: postgres.Sql | postgres.TransactionSql = sql) => {
    const id = await issue();
    await by`update issues set title = ${title}, doc = json_build_object('id', id, 'title', ${title}::text,
      'projectId', project_id, 'secret', secret, 'created_at', now(), 'updated_at', now(), '_version', version)::text
      where id = ${id}`;
  };
  const changes: Readonly<Record<string, (step: number) => Promise<unknown>>> = {
    nothing: async () => undefined,
    'a title': (step) => titled(`title ${step}`),
    'a role': () =>
      sql`update memberships set role = ${pick(ROLES)} where user_id = ${pick(callers).id} and team_id = ${pick(teams)}`,
    'the end of a membership': () =>
      sql`delete from memberships where user_id = ${pick(callers).id} and team_id = ${pick(teams)}`,
    'a membership': () => sql`
      insert into memberships (id, version, updated_at, doc, role, team_id, user_id)
      values (gen_random_uuid(), 1, now(), '{}', ${pick(ROLES)}, ${pick(teams)}, ${pick(callers).id})
      on conflict do nothing`,
    'the team of a project': () =>
      sql`update projects set team_id = ${pick(teams)} where id = ${pick(projects)}`,
    'a change without triggers': (step) =>
      sql.begin(async (own) => {
        await own`set local session_replication_role = replica`;
        await titled(`silent ${step}`, own);
      }),
    'a change that is rolled back': (step) =>
      sql
        .begin(async (own) => {
          await titled(`never ${step}`, own);
          throw new Error('rolled back');
        })
        .catch(() => undefined),
    'a change of a subtransaction': (step) =>
      sql.begin((own) => own.savepoint((inner) => titled(`saved ${step}`, inner))),
    'a change that others do not see for a while': async (step) => {
      await sql.begin(async (own) => {
        await titled(`open ${step}`, own);
        await compare(`during step ${step}`);
      });
    },
  };
  const paths = [
    '/issues?page=1',
    '/issues?page=1&limit=50',
    '/issues?page=1&limit=20&sort=created_at&order=asc',
  ];
  const compare = async (what: string) => {
    for (const caller of callers) {
      const wanted = await expected(sql, caller);
      for (let n = 0; n < 3; n++)
        for (const path of paths) {
          const { total, issues } = await shown(caller, path);
          t.same([total, issues], [wanted.length, wanted.slice(0, 50)], `${what}: ${path}`);
        }
    }
  };
  const steps = times(30, 60, 300);
  for (let step = 0; step < steps; step++) {
    const name = random() < 0.3 ? 'nothing' : pick(Object.keys(changes));
    await changes[name]!(step);
    await compare(`step ${step}: ${name}`);
  }
});

t.test('many readers never see a page from before a change that has been confirmed', async (t) => {
  const { callers, operator, projects, made } = await openTeams(t);
  const [ann] = callers as [Caller];
  const id = await made('/issues', { title: 'version 0', projectId: projects[0]! });
  let confirmed = 0;
  let isDone = false;
  const versionIn = async () => {
    const { json } = await ann.call('GET', '/issues?page=1');
    const found = json.data.find((each: { id: string }) => each.id === id);
    return Number(found.title.split(' ')[1]);
  };
  const reader = async () => {
    let reads = 0;
    for (; !isDone; reads++) {
      const least = confirmed;
      const seen = await versionIn();
      if (seen < least) t.fail(`version ${seen} after ${least} was confirmed`);
    }
    return reads;
  };
  const readers = Array.from({ length: 16 }, reader);
  for (let version = 1; version <= times(40, 100, 1000); version++) {
    t.equal((await operator('PATCH', `/issues/${id}`, { title: `version ${version}` })).status, 200);
    confirmed = version;
    // Between the changes the page is read from memory.
    for (let n = 0; n < version % 6; n++) t.equal(await versionIn(), version);
  }
  isDone = true;
  const reads = await Promise.all(readers);
  t.ok(
    reads.every((count) => count > 0),
    `${reads.join(', ')} readings`,
  );
});
