import type { JsonObject } from '../../src/json.js';
import { declare } from '../support/collections.js';
import { testService } from '../support/service.js';
import { sqlOf } from '../support/sql.js';
import t from '../support/test.js';
import { DECLARATIONS, drawingOf, fill } from './tracker.js';

/** Queries of issues, and what a programmer would write for them: the order, and the conditions on `i`. */
const QUERIES: readonly (readonly [query: string, sql: string])[] = [
  ['filter[status]=open', `from issues i where status = 'open' order by id`],
  ['filter[status][ne]=open', `from issues i where status <> 'open' order by id`],
  [
    'filter[or][0][status]=open&filter[or][1][estimate][gte]=2',
    `from issues i where status = 'open' or estimate >= 2 order by id`,
  ],
  [
    'filter[not][estimate][between]=0,2',
    'from issues i where (estimate between 0 and 2) is not true order by id',
  ],
  [
    'filter[project][title]=red',
    `from issues i join projects p on p.id = i.project_id where p.title = 'red' order by i.id`,
  ],
  [
    'filter[project][team][rank][lt]=3&filter[status][in]=open,closed',
    `from issues i join projects p on p.id = i.project_id join teams t on t.id = p.team_id
      where t.rank < 3 and i.status in ('open', 'closed') order by i.id`,
  ],
  [
    'filter[project][team][memberships][some][role]=owner',
    `from issues i where exists (
      select from projects p join teams t on t.id = p.team_id join memberships m on m.team_id = t.id
      where p.id = i.project_id and m.role = 'owner') order by i.id`,
  ],
  [
    'filter[comments][none][likes][gt]=1',
    'from issues i where not exists (select from comments c where c.issue_id = i.id and c.likes > 1) order by i.id',
  ],
  [
    'filter[comments][every][likes][gt]=1',
    `from issues i where not exists (select from comments c where c.issue_id = i.id and not coalesce(c.likes > 1, false)) order by i.id`,
  ],
  ['search=red', `from issues i where title ilike '%red%' or note ilike '%red%' order by id`],
  [
    'sort=-estimate,status',
    `from issues i order by estimate desc nulls last, status collate "C" nulls last, id`,
  ],
  [
    'sort=project.title,-created_at',
    `from issues i left join projects p on p.id = i.project_id order by p.title collate "C" nulls last, i.id desc`,
  ],
  [
    'sort=-assignee.name,status,-project.updated_at',
    `from issues i left join people a on a.id = i.assignee_id left join projects p on p.id = i.project_id
      order by a.name collate "C" desc nulls last, i.status collate "C" nulls last, p.updated_at desc nulls last, i.id desc`,
  ],
  [
    'filter[partOf][status]=open&sort=-partOf.estimate,estimate',
    `from issues i join issues o on o.id = i.part_of_id where o.status = 'open'
      order by o.estimate desc nulls last, i.estimate nulls last, i.id`,
  ],
];

const GROUPS: readonly (readonly [query: string, sql: string])[] = [
  [
    'group=status&aggregate=count,sum(estimate)&sort=-count',
    `select status collate "C" as "status", count(*)::int as "count", sum(estimate) as "sum(estimate)" from issues
      group by 1 order by 2 desc, 1 nulls last`,
  ],
  [
    'group=isOpen,status&aggregate=avg(estimate),max(updated_at)&filter[project][tags][has]=red&sort=status,-isOpen',
    `select is_open as "isOpen", status collate "C" as status, avg(estimate) as "avg(estimate)",
        to_char(max(i.updated_at) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "max(updated_at)"
      from issues i join projects p on p.id = i.project_id where 'red' = any (p.tags)
      group by 1, 2 order by 2 nulls last, 1 desc nulls last`,
  ],
];

t.test('queries respond with what hand-written SQL selects, in its order', async (t) => {
  const service = await testService(t, { COLLECTIONS: declare(t, DECLARATIONS), MIGRATE: 'auto' });
  await fill(service, drawingOf(t));
  const sql = sqlOf(t, service.databaseUrl);
  for (const [query, text] of QUERIES) {
    const expected = (await sql.unsafe(`select i.id ${text}`)).map(({ id }) => String(id));
    const found = (await service.send('GET', `/issues?${query}&page=1&limit=100`)).json;
    t.same(
      [found.data.map(({ id }: JsonObject) => id), found.meta.total],
      [expected, expected.length],
      query,
    );
    const cursors = await service.send('GET', `/api/v2/issues?${query}&limit=100`);
    t.same(
      cursors.json.data.map(({ id }: JsonObject) => id),
      expected,
      `version 2: ${query}`,
    );
  }
  for (const [query, text] of GROUPS) {
    const rows = await sql.unsafe(text);
    t.same(
      (await service.send('GET', `/issues?${query}`)).json.data,
      JSON.parse(JSON.stringify(rows)),
      query,
    );
  }
});
