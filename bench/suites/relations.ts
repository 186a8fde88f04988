import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startEmbedded } from '../../src/features/embedded/embedded.js';
import { openSql } from '../../test/support/sql.js';
import { type Contestant, startContestant } from '../harness/contestant.js';
import { pickLoader } from '../harness/load.js';
import { median } from '../harness/stats.js';

/**
 * Conditions over relations, alternatives and groups of a million issues, beside a hand-written server with a statement for
 * each, measured in turn: `node dist/bench/suites/relations.js [issues] [rounds] [seconds] [pattern of cases]`.
 */
const [ISSUES = 1_000_000, ROUNDS = 5, SECONDS = 3] = process.argv.slice(2, 5).map(Number);
const WANTED = new RegExp(process.argv[5] ?? '', 'v');
const CONNECTIONS = 64;
const [PROJECTS, TEAMS] = [ISSUES / 100, ISSUES / 2000];

interface Case {
  readonly label: string;
  /** The query of each server. `{number}` is another one in each request. */
  readonly plinth: string;
  readonly handwritten: string;
  readonly target: number;
}

const PAGES = [
  [
    'a condition over one relation',
    'filter[project][title]=project%20{number}',
    'project=project%20{number}',
  ],
  ['over two', 'filter[project][team][name]=team%20{number}', 'team=team%20{number}'],
  ['or', 'filter[or][0][estimate]={number}&filter[or][1][code]={number}', 'or={number}'],
  ['and', 'filter[estimate]={number}&filter[status]=open', 'and={number}'],
] as const;

const CASES: readonly Case[] = [
  ...PAGES.flatMap(([label, plinth, handwritten]): Case[] => [
    { label, plinth, handwritten, target: 1.5 },
    {
      label: `${label}, no total`,
      plinth: `${plinth}&count=none`,
      handwritten: `${handwritten}&count=0`,
      target: 1.5,
    },
  ]),
  {
    label: 'groups of all',
    plinth: 'group=status&aggregate=count,sum(estimate)',
    handwritten: 'group=status',
    target: 1,
  },
];

const reference = (to: string) => ({ type: 'string', 'x-references': to });
const text = { type: 'string', maxLength: 100, 'x-index': true };
const number = { type: 'number', 'x-index': true };
const collection = (properties: object) => ({
  type: 'object',
  properties,
  'x-collection': { list: 'page' },
});
const DECLARATIONS = {
  users: { type: 'object', properties: {} },
  teams: collection({ name: text }),
  projects: collection({ teamId: reference('teams'), title: text }),
  issues: collection({
    projectId: reference('projects'),
    status: text,
    estimate: number,
    code: number,
  }),
};

const ids = `
create function pg_temp.identity(n bigint) returns uuid language sql as $$
  select (substr(t, 1, 8) || '-' || substr(t, 9, 4) || '-7000-8000-000000000000')::uuid
  from (select lpad(to_hex(1700000000000 + n), 12, '0') as t) x $$;
create function pg_temp.document(id uuid, fields text) returns text language sql as $$
  select format('{"id":"%s",%s,"created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-01-01T00:00:00.000Z","_version":1}', id, fields) $$;`;

const issues = `
  select pg_temp.identity(n) as id, pg_temp.identity(1 + n % ${PROJECTS}) as project_id,
    (array['open', 'closed', 'waiting', 'new', 'done'])[1 + n % 5] as status, n % ${PROJECTS} as estimate, n % ${PROJECTS / 2} as code
  from generate_series(1, ${ISSUES}) n`;

const FILL = `${ids}
alter table teams disable trigger user;
alter table projects disable trigger user;
alter table issues disable trigger user;
insert into teams (id, updated_at, name, doc)
select pg_temp.identity(n), now(), 'team ' || n, pg_temp.document(pg_temp.identity(n), format('"name":"team %s"', n)) from generate_series(1, ${TEAMS}) n;
insert into projects (id, updated_at, team_id, title, doc)
select pg_temp.identity(n), now(), pg_temp.identity(1 + n % ${TEAMS}), 'project ' || n,
  pg_temp.document(pg_temp.identity(n), format('"teamId":"%s","title":"project %s"', pg_temp.identity(1 + n % ${TEAMS}), n))
from generate_series(1, ${PROJECTS}) n;
insert into issues (id, updated_at, project_id, status, estimate, code, doc)
select id, now(), project_id, status, estimate, code,
  pg_temp.document(id, format('"projectId":"%s","status":"%s","estimate":%s,"code":%s,"stock":1', project_id, status, estimate, code))
from (${issues}) r;
alter table teams enable trigger user;
alter table projects enable trigger user;
alter table issues enable trigger user;`;

const OWN = `extra jsonb not null default '{}', version integer not null default 1, created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()`;
const FILL_PLAIN = `${ids}
create table teams (id uuid primary key, name text, ${OWN});
create table projects (id uuid primary key, team_id uuid references teams, title text, ${OWN});
create table issues (id uuid primary key, project_id uuid references projects, status text, estimate double precision, code double precision, ${OWN});
insert into teams (id, name) select pg_temp.identity(n), 'team ' || n from generate_series(1, ${TEAMS}) n;
insert into projects (id, team_id, title)
select pg_temp.identity(n), pg_temp.identity(1 + n % ${TEAMS}), 'project ' || n from generate_series(1, ${PROJECTS}) n;
insert into issues (id, project_id, status, estimate, code, extra) select r.*, '{"stock": 1}' from (${issues}) r;
create index on teams (name);
create index on projects (title);
create index on projects (team_id, id);
create index on issues (project_id, id);
create index on issues (status);
create index on issues (estimate, id);
create index on issues (code, id);`;

const folder = mkdtempSync(join(tmpdir(), 'plinth-bench-'));
const embedded = await startEmbedded({
  dataDir: join(folder, 'data'),
  settings: ['fsync=off', 'shared_buffers=2GB', 'max_wal_size=8GB', 'maintenance_work_mem=512MB'],
});
const idsFile = join(folder, 'ids');
writeFileSync(idsFile, '1\n');
try {
  await measure(await fillAll());
} finally {
  await embedded.stop();
  rmSync(folder, { recursive: true, force: true });
}

interface Servers {
  readonly plinth: Contestant;
  readonly handwritten: Contestant;
}

async function fillAll(): Promise<Servers> {
  process.stderr.write(`filling ${ISSUES} issues twice ...\n`);
  const settings = { COLLECTIONS: join(folder, 'collections'), MIGRATE: 'auto' };
  const declared = Object.entries(DECLARATIONS);
  mkdirSync(settings.COLLECTIONS);
  for (const [name, schema] of declared)
    writeFileSync(join(settings.COLLECTIONS, `${name}.json`), JSON.stringify(schema));
  await (await startContestant('plinth', embedded.url, settings)).stop();
  await execute(embedded.url, 'create database plain');
  const plain = embedded.url.replace(/\/[^/]*$/, '/plain');
  await execute(embedded.url, `set search_path = public_collections, public;${FILL}`);
  await execute(plain, FILL_PLAIN);
  for (const url of [embedded.url, plain]) {
    await execute(url, 'vacuum analyze');
    await execute(url, 'checkpoint');
  }
  const program = fileURLToPath(new URL('../peers/relations.js', import.meta.url));
  // The hand-written server waits as long as a statement takes.
  const patient = { ...settings, QUERY_TIMEOUT_MS: '60000', DB_TIMEOUT_MS: '60000' };
  return {
    plinth: await startContestant('plinth', embedded.url, patient),
    handwritten: await startContestant('handwritten', plain, {}, program),
  };
}

async function execute(url: string, text: string): Promise<void> {
  const sql = openSql(url, { max: 1, onnotice: () => undefined });
  await sql.unsafe(text);
  await sql.end();
}

/** Both servers must show equal values, or the figures compare different work. */
async function requireEqual({ label, plinth, handwritten }: Case, servers: Servers): Promise<void> {
  const dataOf = async ({ url }: Contestant, query: string) => {
    const response = await fetch(`${url}/issues?${query.replaceAll('{number}', '7')}`);
    const { data, meta } = (await response.json()) as {
      data: { id?: string; status?: string; count?: number }[];
      meta?: { total?: number };
    };
    return JSON.stringify([data.map(({ id, status, count }) => [id, status, count]), meta?.total]);
  };
  const [one, other] = [await dataOf(servers.plinth, plinth), await dataOf(servers.handwritten, handwritten)];
  if (one !== other) throw new Error(`${label}: ${one} instead of ${other}`);
}

async function measure(servers: Servers): Promise<void> {
  const { load } = pickLoader(undefined);
  const names = ['plinth', 'handwritten'] as const;
  try {
    for (const each of CASES.filter(({ label }) => WANTED.test(label))) {
      await requireEqual(each, servers);
      const rates = { plinth: [] as number[], handwritten: [] as number[] };
      for (let round = 0; round <= ROUNDS; round++)
        for (const name of round % 2 === 0 ? names : names.toReversed()) {
          const { rate, wrong } = await load({
            url: servers[name].url,
            connections: CONNECTIONS,
            seconds: SECONDS,
            request: { method: 'GET', path: `/issues?${each[name]}`, headers: {} },
            status: 200,
            idsFile,
          });
          if (wrong > 0) throw new Error(`${each.label}: ${wrong} requests to ${name} failed`);
          // The first round warms up.
          if (round > 0) rates[name].push(rate);
        }
      const ratio = median(rates.plinth.map((rate, round) => rate / rates.handwritten[round]!));
      process.stdout.write(
        `${each.label.padEnd(40)}${median(rates.plinth).toFixed(0).padStart(8)}/s ${ratio.toFixed(2).padStart(6)} x ${median(rates.handwritten).toFixed(0)}/s, target ${each.target}\n`,
      );
    }
  } finally {
    for (const server of Object.values(servers)) await server.stop();
  }
}
