import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { hashOf, newKey } from '../../src/auth/credentials/api-key-format.js';
import { startEmbedded } from '../../src/features/embedded/embedded.js';
import { openSql } from '../../test/support/sql.js';
import { type Contestant, startContestant } from '../harness/contestant.js';
import { loadPrepared } from '../harness/load-wrk.js';
import { cpuOf, cpuOfFamily } from '../harness/proc.js';
import { median } from '../harness/stats.js';
import { type Databases, fill, isFilled, query } from '../harness/tracker-data.js';

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
  { label: 'page with total', target: 3, line: () => '/issues?page=1' },
  ...[10, 100].map((commits) => ({
    label: `page with total, ${commits} writes/s`,
    target: 3,
    line: () => '/issues?page=1',
    commits,
  })),
  { label: 'page with total, one caller', target: 3, line: () => '/issues?page=1', callers: 1 },
  { label: 'create', target: 1.5, line: () => '/issues', isCreation: true },
];

const folder = KEEP ?? mkdtempSync(join(tmpdir(), 'plinth-bench-'));
const dataDir = join(folder, 'data');
const MEMORY = ['shared_buffers=2GB', 'max_wal_size=8GB', 'maintenance_work_mem=512MB'];
const settings = { COLLECTIONS: join(folder, 'collections'), MIGRATE: 'auto', AUTH: 'api-key' };
const file = join(folder, 'requests');
try {
  // Only the measurement waits for the disk, with the settings with which the service starts the server.
  await withServer([...MEMORY, 'fsync=off'], async (databases) => {
    if (!(await isFilled(databases))) await fill(databases, settings, ISSUES);
  });
  await withServer(MEMORY, async (databases) => measure(databases, await findCallers(databases)));
} finally {
  if (KEEP === undefined) rmSync(folder, { recursive: true, force: true });
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
