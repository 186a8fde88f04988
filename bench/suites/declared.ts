import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openSql } from '../../test/support/sql.js';
import { type Contestant, startContestant } from '../harness/contestant.js';
import { pickLoader } from '../harness/load.js';
import { loadPrepared } from '../harness/load-wrk.js';
import { memoryOf } from '../harness/proc.js';
import { openStage } from '../harness/stage.js';
import { median } from '../harness/stats.js';

/**
 * The cost of a declared collection beside a built-in one of the same schema and records, and a filter beside the
 * hand-written server's own query; then the start with fifty collections beside three: `node dist/bench/suites/declared.js`.
 * Needs wrk.
 */
const ROUNDS = 5;
const SECONDS = 1;
const SIZE = { users: 1000, items: 100_000 };
const STARTS = 7;

const BUILT_IN = fileURLToPath(new URL('../../../collections/', import.meta.url));

interface Case {
  readonly label: string;
  readonly connections: number;
  readonly server: 'plinth' | 'handwritten';
  /** `{id}` is the id of a record of `from`. */
  readonly path: string;
  readonly from?: 'items' | 'books';
}

const CASES: readonly (readonly [of: Case, against: Case])[] = [
  [
    { label: 'GET /books/<id>', connections: 64, server: 'plinth', path: '/books/{id}', from: 'books' },
    { label: 'GET /items/<id>', connections: 64, server: 'plinth', path: '/items/{id}', from: 'items' },
  ],
  [
    {
      label: 'GET /books?page=1&limit=20',
      connections: 64,
      server: 'plinth',
      path: '/books?page=1&limit=20',
    },
    {
      label: 'GET /items?page=1&limit=20',
      connections: 64,
      server: 'plinth',
      path: '/items?page=1&limit=20',
    },
  ],
  [
    {
      label: 'a filter, count=none',
      connections: 64,
      server: 'plinth',
      path: '/items?filter[price][lt]=10&count=none&limit=20',
    },
    {
      label: 'hand-written, no total',
      connections: 64,
      server: 'handwritten',
      path: '/items?page=1&limit=20&below=10&count=0',
    },
  ],
  [
    {
      label: 'a filter, count=exact',
      connections: 64,
      server: 'plinth',
      path: '/items?filter[price][lt]=10&limit=20',
    },
    {
      label: 'hand-written',
      connections: 64,
      server: 'handwritten',
      path: '/items?page=1&limit=20&below=10',
    },
  ],
];

pickLoader('wrk');
const folder = mkdtempSync(join(tmpdir(), 'plinth-bench-'));
const stage = await openStage((line) => process.stderr.write(`${line}\n`));
try {
  await measureCases();
  await measureStarts();
} finally {
  rmSync(folder, { recursive: true, force: true });
  await stage.close();
}

function declare(name: string, count: number): string {
  const target = join(folder, name);
  cpSync(BUILT_IN, target, { recursive: true });
  const items = readFileSync(join(BUILT_IN, 'items.json'), 'utf8');
  for (let n = 0; n < count; n++)
    writeFileSync(
      join(target, `${n === 0 ? 'books' : `books${n}`}.json`),
      items.replaceAll('"Item"', `"Book ${n}"`),
    );
  return target;
}

async function measureCases(): Promise<void> {
  const databaseUrl = await stage.copy('plinth', SIZE, 'declared');
  const settings = { COLLECTIONS: declare('one', 1), MIGRATE: 'auto' };
  await (await startContestant('plinth', databaseUrl, settings)).stop();
  const ids = await fillBooks(databaseUrl);
  const plain = await stage.copy('plain', SIZE, 'declared_plain');
  await stage.settle(databaseUrl);
  await stage.settle(plain);
  const servers: Record<Case['server'], Contestant> = {
    plinth: await startContestant('plinth', databaseUrl, settings),
    handwritten: await startContestant('handwritten', plain),
  };
  try {
    for (const [one, other] of CASES) {
      const rates = new Map<Case, number[]>([
        [one, []],
        [other, []],
      ]);
      for (let round = 0; round <= ROUNDS; round++)
        for (const each of round % 2 === 0 ? [one, other] : [other, one]) {
          const rate = await rateOf(each, servers[each.server], ids);
          if (round > 0) rates.get(each)!.push(rate);
        }
      const [a, b] = [median(rates.get(one)!), median(rates.get(other)!)];
      print(one.label, `${a.toFixed(0)}/s`, `${(a / b).toFixed(2)} x ${other.label} (${b.toFixed(0)}/s)`);
    }
  } finally {
    for (const server of Object.values(servers)) await server.stop();
  }
}

async function fillBooks(databaseUrl: string): Promise<Record<'items' | 'books', string[]>> {
  const sql = openSql(databaseUrl, { max: 1, onnotice: () => undefined });
  const columns = await sql<{ names: string }[]>`
    select string_agg(column_name, ', ') as names from information_schema.columns where table_name = 'items'`;
  await sql.unsafe(`insert into books (${columns[0]!.names}) select ${columns[0]!.names} from items`);
  const idsOf = async (table: string) =>
    (await sql.unsafe<{ id: string }[]>(`select id from ${table} order by random() limit 5000`)).map(
      ({ id }) => id,
    );
  const ids = { items: await idsOf('items'), books: await idsOf('books') };
  await sql.end();
  return ids;
}

async function rateOf(
  { label, path, from, connections }: Case,
  { url }: Contestant,
  ids: Record<'items' | 'books', string[]>,
): Promise<number> {
  const file = join(folder, 'requests.txt');
  const paths = from === undefined ? [path] : ids[from].map((id) => path.replace('{id}', id));
  writeFileSync(file, `${paths.join('\n')}\n`);
  const { rate, wrong, requests } = await loadPrepared({
    url,
    file,
    connections,
    seconds: SECONDS,
    once: false,
  });
  if (wrong > 0) throw new Error(`${label}: ${wrong} of ${requests} requests failed`);
  return rate;
}

async function measureStarts(): Promise<void> {
  const starts = async (name: string, count: number) => {
    const databaseUrl = await stage.copy('plinth', { users: 1000, items: 1000 }, name);
    const settings = { COLLECTIONS: declare(name, count), MIGRATE: 'auto' };
    await (await startContestant('plinth', databaseUrl, settings)).stop();
    return async () => {
      const since = performance.now();
      const server = await startContestant('plinth', databaseUrl, settings);
      const ms = performance.now() - since;
      const memory = memoryOf(server.pid)!.resident;
      await server.stop();
      return { ms, memory };
    };
  };
  const [three, fifty] = [await starts('three', 0), await starts('fifty', 47)];
  const results: { three: Awaited<ReturnType<typeof three>>; fifty: Awaited<ReturnType<typeof three>> }[] =
    [];
  for (let round = 0; round < STARTS; round++) results.push({ three: await three(), fifty: await fifty() });
  const of = (pick: (result: (typeof results)[number]) => number) => median(results.map(pick));
  const ms = [of(({ three }) => three.ms), of(({ fifty }) => fifty.ms)] as const;
  const kb = (of(({ fifty }) => fifty.memory) - of(({ three }) => three.memory)) / 47;
  print(
    'start, 50 collections',
    `${ms[1].toFixed(0)} ms`,
    `${(ms[1] / ms[0]).toFixed(2)} x three (${ms[0].toFixed(0)} ms)`,
  );
  print('memory per collection', `${kb.toFixed(0)} KB`, '');
}

function print(name: string, figure: string, against: string): void {
  process.stdout.write(`${name.padEnd(30)}${figure.padStart(12)}   ${against}\n`);
}
