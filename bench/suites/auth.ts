import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hashOf, newKey } from '../../src/auth/credentials/api-key-format.js';
import { openSql } from '../../test/support/sql.js';
import { type Contestant, startContestant } from '../harness/contestant.js';
import { AUDIENCE, type Issuer, startIssuer } from '../harness/issuer.js';
import { pickLoader } from '../harness/load.js';
import { loadPrepared } from '../harness/load-wrk.js';
import { cpuOf, cpuOfFamily } from '../harness/proc.js';
import { openStage } from '../harness/stage.js';
import { median } from '../harness/stats.js';

/**
 * The cost of each kind of credential for a read by id, against none, side by side: `node dist/bench/auth.js`. Needs wrk.
 * Credentials that are accepted once are made before and used once each.
 */
const ROUNDS = 5;
const SECONDS = 1;
const CONNECTIONS = 64;
/** How many credentials of one kind are made for a round, where each is sent once: more than one round can use. */
const MANY = 30_000;
const MANY_SIGNED = 90_000;
const SECRET = 'a secret that only the bench knows, of some length';
const SIZE = { users: 20_000, items: 1000 };

/** A kind of credential: the service it needs, and the next request's header fields. */
interface Case {
  readonly label: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly fields: (path: string) => Promise<string> | string;
  /** How many are made for a round, where each may be sent once; undefined: they may come again. */
  readonly supply?: number;
}

pickLoader('wrk');
const stage = await openStage((line) => process.stderr.write(`${line}\n`));
const folder = await mkdtemp(join(tmpdir(), 'plinth-bench-'));
const issuer = await startIssuer();
try {
  const databaseUrl = await stage.copy('plinth', SIZE, 'auth');
  await stage.settle(databaseUrl);
  const { ids, key } = await prepare(databaseUrl);
  const cases = await casesOf(issuer, key);
  const results = await measure(cases, databaseUrl, ids);
  print(results);
} finally {
  issuer.close();
  await rm(folder, { recursive: true, force: true });
  await stage.close();
}

async function prepare(databaseUrl: string): Promise<{ ids: string[]; key: string }> {
  const sql = openSql(databaseUrl, { max: 1 });
  const rows = await sql<{ id: string }[]>`select id from users`;
  const key = newKey();
  await sql`insert into credentials (id, kind, hash, label, subject, scopes)
    values (gen_random_uuid(), 'key', decode(${hashOf(key)}, 'base64'), 'bench', 'bench', '{users:read}')`;
  await sql.end();
  return { ids: rows.map(({ id }) => id), key };
}

async function casesOf(issuer: Issuer, key: string): Promise<Case[]> {
  const bearer = { AUTH: 'bearer', ISSUER: issuer.url, AUDIENCE };
  const signing = [{ id: 'bench', secret: SECRET, subject: 'bench', scopes: ['users:read'] }];
  const cached = await issuer.token('ES256');
  const uncached = issuer.algorithms.map(
    (algorithm): Case => ({
      label: `JWT, ${algorithm}, not seen before`,
      settings: bearer,
      fields: async () => `authorization: Bearer ${await issuer.token(algorithm)}`,
      supply: MANY,
    }),
  );
  return [
    { label: 'none', settings: {}, fields: () => '' },
    {
      label: 'JWT, seen before',
      settings: bearer,
      fields: () => `authorization: Bearer ${cached}`,
    },
    ...uncached,
    { label: 'API key', settings: { AUTH: 'api-key' }, fields: () => `x-api-key: ${key}` },
    {
      label: 'signature',
      settings: { AUTH: 'signature', SIGNING_SECRETS: JSON.stringify(signing) },
      fields: signed,
      supply: MANY_SIGNED,
    },
  ];
}

function signed(path: string): string {
  const timestamp = Math.floor(Date.now() / 1000);
  const signature = createHmac('sha256', SECRET).update(`${timestamp}\nGET\n${path}\n`).digest('base64');
  return `x-timestamp: ${timestamp}\tx-signature: ${signature}`;
}

interface Result {
  readonly label: string;
  readonly rate: number;
  readonly nodeUs: number;
  readonly pgUs: number;
}

async function measure(
  cases: readonly Case[],
  databaseUrl: string,
  ids: readonly string[],
): Promise<Result[]> {
  const running = await Promise.all(
    cases.map(async (each) => ({
      each,
      service: await startContestant('plinth', databaseUrl, each.settings),
    })),
  );
  try {
    const rounds: Result[] = [];
    for (let round = 0; round <= ROUNDS; round++) {
      // There and back, so that none always comes after the one that writes.
      for (const { each, service } of round % 2 === 0 ? running : running.toReversed()) {
        const result = await measureOnce(each, service, ids);
        if (round > 0) rounds.push(result);
      }
    }
    return cases.map(({ label }) => {
      const own = rounds.filter((round) => round.label === label);
      const middle = (figure: 'rate' | 'nodeUs' | 'pgUs') => median(own.map((round) => round[figure]));
      return { label, rate: middle('rate'), nodeUs: middle('nodeUs'), pgUs: middle('pgUs') };
    });
  } finally {
    for (const { service } of running) await service.stop();
  }
}

async function measureOnce(each: Case, { url, pid }: Contestant, ids: readonly string[]): Promise<Result> {
  const file = join(folder, 'requests.txt');
  const { supply } = each;
  await write(file, each, supply ?? 5000, ids);
  const before = [cpuOf(pid) ?? 0, cpuOfFamily(stage.pid) ?? 0] as const;
  const { requests, rate, wrong } = await loadPrepared({
    url,
    file,
    connections: CONNECTIONS,
    seconds: SECONDS,
    once: supply !== undefined,
  });
  if (wrong > 0) throw new Error(`${each.label}: ${wrong} of ${requests} requests were refused`);
  // The load ends when few are left: its rate would be that of the supply.
  if (supply !== undefined && requests > supply * 0.95)
    throw new Error(`${each.label}: ${supply} credentials were too few`);
  const spent = (now: number | undefined, then: number) => (((now ?? 0) - then) * 1e6) / requests;
  return {
    label: each.label,
    rate,
    nodeUs: spent(cpuOf(pid), before[0]),
    pgUs: spent(cpuOfFamily(stage.pid), before[1]),
  };
}

/** One request a line: its path and its fields, parted by tabs. */
async function write(file: string, { fields, supply }: Case, count: number, ids: readonly string[]) {
  const stream = createWriteStream(file);
  const tag = randomBytes(4).toString('hex');
  for (let n = 0; n < count; n++) {
    const id = ids[Math.floor(Math.random() * ids.length)]!;
    const path = supply !== undefined ? `/users/${id}?${tag}${n}` : `/users/${id}`;
    const more = await fields(path);
    if (!stream.write(`${path}${more === '' ? '' : `\t${more}`}\n`)) await once(stream, 'drain');
  }
  stream.end();
  await once(stream, 'close');
}

function print(results: readonly Result[]): void {
  const [none] = results;
  const line = (cells: readonly string[]) => process.stdout.write(`| ${cells.join(' | ')} |\n`);
  line(['credential', 'requests a second', 'against none', 'Node us', 'PostgreSQL us']);
  line(['---', '---', '---', '---', '---']);
  for (const { label, rate, nodeUs, pgUs } of results)
    line([label, rate.toFixed(0), (rate / none!.rate).toFixed(2), nodeUs.toFixed(0), pgUs.toFixed(0)]);
}
