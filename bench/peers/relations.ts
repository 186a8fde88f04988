import { createServer } from 'node:http';
import FindMyWay from 'find-my-way';
import postgres from 'postgres';
import { listQueryOf, pageOf, type Row } from './common.js';
import { listen } from './listen.js';

/** The issues of an issue tracker as a careful developer serves them by hand: a statement for each question, prepared once a connection. */

const ISSUE =
  'i.id, i.project_id as "projectId", i.status, i.estimate, i.code, i.extra, i.version, i.created_at, i.updated_at';
const WHERE = {
  project: 'i join projects p on p.id = i.project_id where p.title = $1',
  team: 'i join projects p on p.id = i.project_id join teams t on t.id = p.team_id where t.name = $1',
  or: 'i where i.estimate = $1::float8 or i.code = $1::float8',
  and: "i where i.estimate = $1::float8 and i.status = 'open'",
};
const GROUPS = `select status, count(*)::integer as count, sum(estimate) as "sum(estimate)"
  from issues group by status order by status`;

const sql = postgres(process.env.DATABASE_URL!, { max: 4 });
const run = (text: string, args: unknown[]) => sql.unsafe(text, args as never[], { prepare: true });

async function pageOfIssues(by: keyof typeof WHERE, params: Readonly<Record<string, string>>) {
  const list = listQueryOf(params);
  const from = `from issues ${WHERE[by]}`;
  const [rows, counted] = await Promise.all([
    run(`select ${ISSUE} ${from} order by i.id limit $2 offset $3`, [params[by], list.limit, list.offset]),
    list.counted ? run(`select count(*)::integer as total ${from}`, [params[by]]) : undefined,
  ]);
  return pageOf(list, rows as unknown as Row[], counted?.[0]?.total as number | undefined);
}

const router = FindMyWay();
router.on(
  'GET',
  '/issues',
  () => undefined,
  async (params: Readonly<Record<string, string>>) => {
    const by = (Object.keys(WHERE) as (keyof typeof WHERE)[]).find((name) => params[name] !== undefined);
    return by === undefined ? { data: await run(GROUPS, []) } : pageOfIssues(by, params);
  },
);

listen(
  createServer(async (req, res) => {
    const found = router.find('GET', req.url!)!;
    const value = await (found.store as (params: unknown) => Promise<unknown>)(found.searchParams);
    const body = JSON.stringify(value);
    res
      .writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) })
      .end(body);
  }),
);
