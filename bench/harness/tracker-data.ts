import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TEAM_TRACKER } from '../../test/access/team-tracker.js';
import { openSql } from '../../test/support/sql.js';
import { startContestant } from './contestant.js';

/** The databases of Plinth and of a hand-written server, with equal issues of teams. */
export interface Databases {
  readonly ruled: string;
  readonly plain: string;
  /** The server's process, whose children are its sessions. */
  readonly pid: number;
}

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
const rowsOf = (issues: number) => {
  const [projects, teams, users] = [issues / 10, issues / 100, issues / 10];
  return {
    users: `select pg_temp.identity(1, n) as id, n || '@example.org' as email from generate_series(1, ${users}) n`,
    teams: `select pg_temp.identity(2, n) as id, 'team ' || n as name, pg_temp.identity(1, n) as owner_id from generate_series(1, ${teams}) n`,
    memberships: `select pg_temp.identity(3, n) as id, (array['owner', 'member', 'guest'])[1 + n % 3] as role,
    pg_temp.identity(2, 1 + n % ${teams}) as team_id, pg_temp.identity(1, 1 + (n * 7919) % ${users}) as user_id from generate_series(1, ${users}) n`,
    projects: `select pg_temp.identity(4, n) as id, 'project ' || n as title, pg_temp.identity(2, 1 + n % ${teams}) as team_id
    from generate_series(1, ${projects}) n`,
    issues: `select pg_temp.identity(5, n) as id, 'issue ' || n as title, pg_temp.identity(4, 1 + n % ${projects}) as project_id,
    'open' as status, n % 100 as estimate, 'secret' as secret from generate_series(1, ${issues}) n`,
  };
};
type Rows = ReturnType<typeof rowsOf>;
type Name = keyof Rows;
const namesOf = (rows: Rows) => Object.keys(rows) as Name[];

/** The members of a stored document. */
const MEMBERS: Readonly<Record<Name, string>> = {
  users: `format('"email":"%s","name":"user"', email)`,
  teams: `format('"name":"%s","ownerId":"%s"', name, owner_id)`,
  memberships: `format('"role":"%s","teamId":"%s","userId":"%s"', role, team_id, user_id)`,
  projects: `format('"title":"%s","teamId":"%s"', title, team_id)`,
  issues: `format('"title":"%s","projectId":"%s","status":"%s","estimate":%s,"secret":"%s"', title, project_id, status, estimate, secret)`,
};

const columnsOf = (rows: string) => [...rows.matchAll(/ as (\w+)/g)].map(([, column]) => column!).join(', ');

const fillingOf = (rows: Rows) =>
  namesOf(rows)
    .map((name) => {
      const columns = columnsOf(rows[name]);
      return `insert into ${name} (${columns}, updated_at, doc)
select ${columns}, now(), pg_temp.document(id, ${MEMBERS[name]}) from (${rows[name]}) as row;
insert into blocks (collection, total) select '${name}', count(*) from ${name} on conflict (collection) do update set total = excluded.total;`;
    })
    .join('\n');

const OWN = `extra jsonb not null default '{}', version integer not null default 1, created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()`;
const plainOf = (rows: Rows) => `
create table users (id uuid primary key, email text, ${OWN});
create table teams (id uuid primary key, name text, owner_id uuid references users, ${OWN});
create table memberships (id uuid primary key, role text, team_id uuid references teams, user_id uuid references users, ${OWN});
create table projects (id uuid primary key, title text, team_id uuid references teams, ${OWN});
create table issues (id uuid primary key, title text, project_id uuid references projects, status text, estimate double precision,
  assignee_id uuid references users, blocked_by_id uuid references issues, secret text, ${OWN});
${namesOf(rows)
  .map((name) => `insert into ${name} (${columnsOf(rows[name])}) ${rows[name]};`)
  .join('\n')}
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

export async function query(url: string, text: string): Promise<readonly Record<string, unknown>[]> {
  const sql = openSql(url, { max: 1, onnotice: () => undefined });
  const rows = await sql.unsafe(text);
  await sql.end();
  return rows;
}

export async function isFilled({ ruled }: Databases): Promise<boolean> {
  const found = await query(ruled, `select from pg_database where datname = 'plain'`);
  return found.length > 0;
}

/** Fills both databases with so many issues. `settings`: those of Plinth, whose folder of declarations is made. */
export async function fill(
  { ruled, plain }: Databases,
  settings: Readonly<Record<string, string>> & { readonly COLLECTIONS: string },
  issues: number,
): Promise<void> {
  process.stderr.write(`filling ${issues} issues twice ...\n`);
  const rows = rowsOf(issues);
  mkdirSync(settings.COLLECTIONS);
  // The hand-written server has no search.
  for (const [file, declaration] of Object.entries(TEAM_TRACKER))
    writeFileSync(
      join(settings.COLLECTIONS, file),
      JSON.stringify(declaration).replaceAll(',"x-search":true', ''),
    );
  await (await startContestant('plinth', ruled, settings)).stop();
  await query(ruled, `set search_path = public_collections, public;${IDS}${fillingOf(rows)}`);
  await query(ruled, 'create database plain');
  await query(plain, `${IDS}${plainOf(rows)}`);
  for (const url of [ruled, plain]) {
    await query(url, 'vacuum analyze');
    await query(url, 'checkpoint');
  }
}
