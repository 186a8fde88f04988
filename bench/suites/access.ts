import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { hashOf, newKey } from '../../src/auth/credentials/api-key-format.js';
import { startEmbedded } from '../../src/features/embedded/embedded.js';
import { TEAM_TRACKER } from '../../test/access/team-tracker.js';
import { openSql } from '../../test/support/sql.js';
import { type Contestant, startContestant } from '../harness/contestant.js';
import { loadPrepared } from '../harness/load-wrk.js';
import { cpuOf, cpuOfFamily } from '../harness/proc.js';
import { median } from '../harness/stats.js';

/**
 * The access rules of the tests' team tracker, with a million issues, beside a hand-written server with the same condition in its
 * statements, measured in turn: `node dist/bench/suites/access.js [issues] [rounds] [seconds] [main.js of another build]`. Needs
 * wrk. Callers of Plinth have API keys; the hand-written server trusts a header field.
 */
const [ISSUES = 1_000_000, ROUNDS = 5, SECONDS = 3] = process.argv.slice(2, 5).map(Number);
const OTHER_BUILD = process.argv[5];
/**
 * With KEEP, the data are made in this folder, or found there from an earlier run. With OUTBOX, the hand-written server writes an
 * event with each issue, as Plinth does.
 */
const { KEEP, OUTBOX } = process.env;
const CONNECTIONS = 64;
const CALLERS = 64;
/** Of the issues that the measurement creates. */
const TITLE = 'an issue';
const [PROJECTS, TEAMS, USERS] = [ISSUES / 10, ISSUES / 100, ISSUES / 10];

interface Case {
  readonly label: string;
  readonly target: number;
  /** The line of a request by a caller (load-wrk.ts). */
  readonly line: (caller: Caller, place: number) => string;
  readonly isCreation?: boolean;
  /** How many callers there are; absent: all. */
  readonly callers?: number;
  /** Transactions of others that are committed in the meantime, per second; absent: none. */
  readonly commits?: number;
}

/** Requests per second, and the CPU time of a request in the server and the database, which says more on a machine with other work. */
interface Figures {
  readonly rate: number;
  readonly us: number;
}

interface Caller {
  readonly id: string;
  readonly key: string;
  readonly role: string;
  /** A project of a team of the caller, and issues of it. */
  readonly project: string;
  readonly issues: readonly string[];
}

const CASES: readonly Case[] = [
  { label: 'read by id', target: 2, line: ({ issues }, place) => `/issues/${issues[place % issues.length]}` },
  { label: 'page with total', target: 10, line: () => '/issues?page=1' },
  ...[10, 100].map((commits) => ({
    label: `page with total, ${commits} writes/s`,
    target: 10,
    line: () => '/issues?page=1',
    commits,
  })),
  { label: 'page with total, one caller', target: 10, line: () => '/issues?page=1', callers: 1 },
  { label: 'create', target: 1.5, line: () => '/issues', isCreation: true },
];

/**
 * Neither references nor events are checked or recorded while tables are filled. The records are a millisecond apart: the service
 * divides the numbers of records by time.
 */
const IDS = `
set session_replication_role = replica;
create function pg_temp.identity(kind int, n bigint) returns uuid language sql immutable as $$
  select (lpad(to_hex(1700000000000 + n), 12, '0') || '70008000' || lpad(to_hex(kind), 4, '0') || lpad(to_hex(n), 8, '0'))::uuid $$;
create function pg_temp.document(id uuid, fields text) returns text language sql immutable as $$
  select format('{"id":"%s",%s,"created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-01-01T00:00:00.000Z","_version":1}', id, fields) $$;`;

/** The columns of each collection; the rows of a team are spread over the tables. */
const ROWS = {
  users: `select pg_temp.identity(1, n) as id, n || '@example.org' as email from generate_series(1, ${USERS}) n`,
  teams: `select pg_temp.identity(2, n) as id, 'team ' || n as name, pg_temp.identity(1, n) as owner_id from generate_series(1, ${TEAMS}) n`,
  memberships: `select pg_temp.identity(3, n) as id, (array['owner', 'member', 'guest'])[1 + n % 3] as role,
    pg_temp.identity(2, 1 + n % ${TEAMS}) as team_id, pg_temp.identity(1, 1 + (n * 7919) % ${USERS}) as user_id from generate_series(1, ${USERS}) n`,
  projects: `select pg_temp.identity(4, n) as id, 'project ' || n as title, pg_temp.identity(2, 1 + n % ${TEAMS}) as team_id
    from generate_series(1, ${PROJECTS}) n`,
  issues: `select pg_temp.identity(5, n) as id, 'issue ' || n as title, pg_temp.identity(4, 1 + n % ${PROJECTS}) as project_id,
    'open' as status, n % 100 as estimate, 'secret' as secret from generate_series(1, ${ISSUES}) n`,
};
type Name = keyof typeof ROWS;
const NAMES = Object.keys(ROWS) as Name[];

/** The members of a stored document. */
const MEMBERS: Readonly<Record<Name, string>> = {
  users: `format('"email":"%s","name":"user"', email)`,
  teams: `format('"name":"%s","ownerId":"%s"', name, owner_id)`,
  memberships: `format('"role":"%s","teamId":"%s","userId":"%s"', role, team_id, user_id)`,
  projects: `format('"title":"%s","teamId":"%s"', title, team_id)`,
  issues: `format('"title":"%s","projectId":"%s","status":"%s","estimate":%s,"secret":"%s"', title, project_id, status, estimate, secret)`,
};

const columnsOf = (name: Name) =>
  [...ROWS[name].matchAll(/ as (\w+)/g)].map(([, column]) => column!).join(', ');

const FILL = NAMES.map(
  (name) => `insert into ${name} (${columnsOf(name)}, updated_at, doc)
select ${columnsOf(name)}, now(), pg_temp.document(id, ${MEMBERS[name]}) from (${ROWS[name]}) as row;
insert into blocks (collection, total) select '${name}', count(*) from ${name} on conflict (collection) do update set total = excluded.total;`,
).join('\n');

const OWN = `extra jsonb not null default '{}', version integer not null default 1, created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()`;
const PLAIN = `
create table users (id uuid primary key, email text, ${OWN});
create table teams (id uuid primary key, name text, owner_id uuid references users, ${OWN});
create table memberships (id uuid primary key, role text, team_id uuid references teams, user_id uuid references users, ${OWN});
create table projects (id uuid primary key, title text, team_id uuid references teams, ${OWN});
create table issues (id uuid primary key, title text, project_id uuid references projects, status text, estimate double precision,
  assignee_id uuid references users, blocked_by_id uuid references issues, secret text, ${OWN});
${NAMES.map((name) => `insert into ${name} (${columnsOf(name)}) ${ROWS[name]};`).join('\n')}
create unique index on users (email);
create unique index on memberships (team_id, user_id);
create index on memberships (user_id);
create index on projects (team_id, id);
create index on issues (project_id, id);
create index on issues (assignee_id, id);
create index on issues (blocked_by_id, id);
create index on issues (title, id);
create index on issues (status, id);
create index on issues (estimate, id);
create index on issues (secret, id);
create table outbox (id bigserial primary key, type text, actor text, data json, created_at timestamptz not null default now());`;

const folder = KEEP ?? mkdtempSync(join(tmpdir(), 'plinth-bench-'));
const dataDir = join(folder, 'data');
const MEMORY = ['shared_buffers=2GB', 'max_wal_size=8GB', 'maintenance_work_mem=512MB'];
const settings = { COLLECTIONS: join(folder, 'collections'), MIGRATE: 'auto', AUTH: 'api-key' };
const file = join(folder, 'requests');
try {
  // Tables that a crash damages are filled again. The measurement has the settings with which the service starts the server.
  await withServer([...MEMORY, 'fsync=off'], async (databases) => {
    if (!(await isFilled(databases))) await fill(databases);
  });
  await withServer(MEMORY, async (databases) => measure(databases, await findCallers(databases)));
} finally {
  if (KEEP === undefined) rmSync(folder, { recursive: true, force: true });
}

/** The databases of both servers. */
interface Databases {
  readonly ruled: string;
  readonly plain: string;
  /** The server's process, whose children are its sessions. */
  readonly pid: number;
}

async function withServer(
  settings: readonly string[],
  work: (databases: Databases) => Promise<void>,
): Promise<void> {
  const { url: ruled, stop } = await startEmbedded({ dataDir, settings });
  const pid = Number(readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n', 1)[0]);
  try {
    await work({ ruled, plain: ruled.replace(/\/[^/]*$/, '/plain'), pid });
  } finally {
    await stop();
  }
}

async function query(url: string, text: string): Promise<readonly Record<string, unknown>[]> {
  const sql = openSql(url, { max: 1, onnotice: () => undefined });
  const rows = await sql.unsafe(text);
  await sql.end();
  return rows;
}

async function isFilled({ ruled }: Databases): Promise<boolean> {
  const found = await query(ruled, `select from pg_database where datname = 'plain'`);
  return found.length > 0;
}

async function fill({ ruled, plain }: Databases): Promise<void> {
  process.stderr.write(`filling ${ISSUES} issues twice ...\n`);
  mkdirSync(settings.COLLECTIONS);
  // The hand-written server has no search.
  for (const [file, declaration] of Object.entries(TEAM_TRACKER))
    writeFileSync(
      join(settings.COLLECTIONS, file),
      JSON.stringify(declaration).replaceAll(',"x-search":true', ''),
    );
  await (await startContestant('plinth', ruled, settings)).stop();
  await query(ruled, `set search_path = public_collections, public;${IDS}${FILL}`);
  await query(ruled, 'create database plain');
  await query(plain, `${IDS}${PLAIN}`);
  for (const url of [ruled, plain]) {
    await query(url, 'vacuum analyze');
    await query(url, 'checkpoint');
  }
}

/** Callers with each of the roles; those of the first two may create issues. Issues of an earlier run are deleted. */
async function findCallers({ ruled, plain }: Databases): Promise<Caller[]> {
  const issues = `from issues where title = '${TITLE}'`;
  await query(ruled, `set search_path = public_collections, public; delete ${issues}`);
  await query(plain, `delete ${issues}`);
  const found = await query(
    plain,
    `select m.user_id as id, m.role, p.project as project, array(select id from issues where project_id = p.project) as issues
from (select * from memberships order by md5(id::text) limit ${CALLERS}) m,
  lateral (select id as project from projects where team_id = m.team_id order by id limit 1) p`,
  );
  const all = found.map((each) => ({ ...each, key: newKey() }) as unknown as Caller);
  const values = all.map(
    ({ id, key }) =>
      `(gen_random_uuid(), 'key', decode('${hashOf(key)}', 'base64'), 'bench', '${id}', '{self}')`,
  );
  await query(
    ruled,
    `insert into credentials (id, kind, hash, label, subject, scopes) values ${values.join(', ')}`,
  );
  return all;
}

/** Both servers must show equal values, or the figures compare different work. */
async function requireEqual(
  { label, line, isCreation }: Case,
  caller: Caller,
  servers: readonly Contestant[],
): Promise<void> {
  if (isCreation) return;
  const shown = await Promise.all(
    servers.map(async ({ url }) => {
      const headers = { 'x-api-key': caller.key, 'x-user': caller.id };
      const response = await fetch(`${url}${line(caller, 0)}`, { headers });
      const { data, meta, ...record } = (await response.json()) as {
        data?: Record<string, unknown>[];
        meta?: { total: number };
      };
      const issues = (data ?? [record]).map(({ id, title, estimate, secret }: Record<string, unknown>) => [
        id,
        title,
        estimate,
        secret,
      ]);
      return JSON.stringify([response.status, issues, meta?.total]);
    }),
  );
  for (const each of shown) if (each !== shown[0]) throw new Error(`${label}: ${shown.join(' and ')}`);
}

async function measure(databases: Databases, all: readonly Caller[]): Promise<void> {
  const { ruled, plain } = databases;
  const program = fileURLToPath(new URL('../peers/access.js', import.meta.url));
  const servers = [
    await startContestant('handwritten', plain, OUTBOX === undefined ? {} : { OUTBOX }, program),
    await startContestant('plinth', ruled, settings),
    ...(OTHER_BUILD ? [await startContestant('plinth', ruled, settings, OTHER_BUILD)] : []),
  ];
  try {
    for (const each of CASES) {
      const some = all.filter(({ role }) => !each.isCreation || role !== 'guest').slice(0, each.callers);
      for (const caller of some) await requireEqual(each, caller, servers);
      const measured = servers.map((): Figures[] => []);
      for (let round = 0; round <= ROUNDS; round++)
        for (const at of round % 2 === 0 ? servers.keys() : [...servers.keys()].toReversed()) {
          const figures = await load(each, some, servers[at]!, databases);
          // The first round warms up.
          if (round > 0) measured[at]!.push(figures);
        }
      const [base, ...others] = measured as [Figures[], ...Figures[][]];
      const texts = others.map((own) => {
        const ratio = (of: (one: Figures, other: Figures) => number) =>
          median(own.map((figures, round) => of(figures, base[round]!))).toFixed(2);
        return `, ${ratio((one, other) => one.rate / other.rate)} x, by CPU time ${ratio((one, other) => other.us / one.us)} x (${median(own.map(({ us }) => us)).toFixed(0)} us)`;
      });
      process.stdout.write(
        `${each.label.padEnd(28)} ${median(base.map(({ rate }) => rate)).toFixed(0)}/s (${median(base.map(({ us }) => us)).toFixed(0)} us)${texts.join('')}, target ${each.target}\n`,
      );
    }
  } finally {
    for (const server of servers) await server.stop();
  }
}

async function load(
  { label, line, isCreation = false, commits = 0 }: Case,
  callers: readonly Caller[],
  server: Contestant,
  { ruled, pid: database }: Databases,
) {
  const lines = Array.from({ length: 4096 }, (_, at) => {
    const caller = callers[Math.floor(Math.random() * callers.length)]!;
    const body = isCreation ? [JSON.stringify({ title: TITLE, projectId: caller.project })] : [];
    const fields = [`x-api-key: ${caller.key}`, `x-user: ${caller.id}`];
    return [line(caller, at), ...fields, ...body].join('\t');
  });
  writeFileSync(file, lines.join('\n'));
  const stopCommits = startCommits(ruled, commits);
  const cpu = () => (cpuOf(server.pid) ?? 0) + (cpuOfFamily(database) ?? 0);
  const before = cpu();
  const { rate, requests, wrong } = await loadPrepared({
    url: server.url,
    file,
    connections: CONNECTIONS,
    seconds: SECONDS,
    once: false,
    hasBodies: isCreation,
  });
  await stopCommits();
  if (wrong > 0) throw new Error(`${label}: ${wrong} requests to ${server.name} failed`);
  return { rate, us: ((cpu() - before) * 1e6) / requests };
}

/** Commits so many transactions per second that write something, until the returned function is called. */
function startCommits(url: string, perSecond: number): () => Promise<void> {
  if (perSecond === 0) return async () => undefined;
  const sql = openSql(url, { max: 1, onnotice: () => undefined });
  const timer = setInterval(() => void sql.unsafe('select pg_current_xact_id()').execute(), 1000 / perSecond);
  return async () => {
    clearInterval(timer);
    await sql.end();
  };
}
