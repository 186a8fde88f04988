import { createServer, type IncomingMessage } from 'node:http';
import FindMyWay from 'find-my-way';
import postgres from 'postgres';
import { isUuid, listQueryOf, pageOf, type Row, recordOf } from './common.js';
import { listen } from './listen.js';

/**
 * The issues of the members of teams as a careful developer serves them by hand: the condition is part of each statement, and
 * a statement is prepared once a connection. The caller is in the header field `x-user`, without any credential.
 */

const member = (user: string, roles = '') =>
  `exists (select from projects p join memberships m on m.team_id = p.team_id where p.id = i.project_id and m.user_id = ${user}${roles})`;
const columns = (user: string) =>
  `i.id, i.title, i.project_id as "projectId", i.status, i.estimate, case when ${member(user, " and m.role = 'owner'")} then i.secret end as secret, i.extra, i.version, i.created_at, i.updated_at`;
const GET = `select ${columns('$2')} from issues i where i.id = $1 and ${member('$2')}`;
const PAGE = `select ${columns('$1')} from issues i where ${member('$1')} order by i.id limit $2 offset $3`;
const COUNT = `select count(*)::integer as total from issues i where ${member('$1')}`;
const CREATE = `insert into issues (id, title, project_id, status) select gen_random_uuid(), i.title, i.project_id, 'open'
  from (values ($2, $3::uuid)) as i (title, project_id) where ${member('$1', " and m.role in ('owner', 'member')")}
  returning id, title, project_id as "projectId", status, extra, version, created_at, updated_at`;

/** As CREATE, with the event in the outbox that a service with a feed of changes writes in the same transaction. */
const CREATE_OUTBOX = `with created as (${CREATE}), event as (
  insert into outbox (type, actor, data) select 'issues.created', $1, to_json(created) from created
) select * from created`;

const sql = postgres(process.env.DATABASE_URL!, { max: 4 });
const run = (text: string, args: unknown[]) =>
  sql.unsafe(text, args as never[], { prepare: true }) as unknown as Promise<(Row & { total?: number })[]>;

type Params = Readonly<Record<string, string>>;
type Handler = (user: string, params: Params, req: IncomingMessage) => Promise<[number, unknown]>;

const router = FindMyWay();
const add = (method: 'GET' | 'POST', path: string, handler: Handler) =>
  router.on(method, path, () => undefined, handler);
const shown = (record: object) =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null));

add('GET', '/issues/:id', async (user, { id }) => {
  const [row] = isUuid(id) ? await run(GET, [id, user]) : [];
  return row ? [200, shown(recordOf(row))] : [404, {}];
});

add('GET', '/issues', async (user, params) => {
  const list = listQueryOf(params);
  const [rows, [counted]] = await Promise.all([
    run(PAGE, [user, list.limit, list.offset]),
    run(COUNT, [user]),
  ]);
  const { data, meta } = pageOf(list, rows, counted!.total);
  return [200, { data: data.map(shown), meta }];
});

add('POST', '/issues', async (user, _, req) => {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  const { title, projectId } = JSON.parse(String(Buffer.concat(chunks))) as Params;
  if (typeof title !== 'string' || title.length > 200 || !isUuid(projectId)) return [400, {}];
  const [row] = await run(process.env.OUTBOX ? CREATE_OUTBOX : CREATE, [user, title, projectId]);
  return row ? [201, shown(recordOf(row))] : [403, {}];
});

listen(
  createServer(async (req, res) => {
    const found = router.find(req.method as 'GET', req.url!)!;
    const params = { ...found.searchParams, ...found.params } as Params;
    const [status, value] = await (found.store as Handler)(String(req.headers['x-user']), params, req);
    const body = JSON.stringify(value);
    const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) };
    res.writeHead(status, headers).end(body);
  }),
);
