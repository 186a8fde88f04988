import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSql } from '../../test/support/sql.js';
import { type Contestant, type Name, startContestant } from './contestant.js';
import { AUDIENCE, startIssuer } from './issuer.js';
import type { Loader } from './loader.js';
import type { Size, Stage } from './stage.js';

/** The service and the database with which all rows are measured. */
export interface Ground {
  readonly stage: Stage;
  readonly load: Loader;
  readonly contestants: ReadonlyMap<Name, Contestant>;
  readonly databases: ReadonlyMap<Name, string>;
  readonly ids: readonly string[];
  readonly idsFile: string;
  /** An access token for the guarded contestant. */
  readonly token: string;
  /** Kinds of requests for which a contestant is warmed up. */
  readonly compiled: Set<string>;
  readonly rounds: number;
  readonly seconds: number;
}

export interface Wanted {
  readonly names: readonly Name[];
  readonly size: Size;
  /** The table whose ids are drawn from. */
  readonly ids: 'users' | 'items';
  readonly rounds: number;
  readonly seconds: number;
}

/** As many ids as random reads are spread over. */
const MAX_IDS = 100_000;

/** Starts the contestants, each on a database of its own, for as long as `work` takes. */
export async function onGround<T>(
  stage: Stage,
  load: Loader,
  wanted: Wanted,
  work: (ground: Ground) => Promise<T>,
): Promise<T> {
  const { names, size, rounds, seconds } = wanted;
  const folder = await mkdtemp(join(tmpdir(), 'plinth-bench-'));
  const issuer = await startIssuer();
  const contestants = new Map<Name, Contestant>();
  const databases = new Map<Name, string>();
  try {
    for (const name of names) {
      if (name === 'bare' || name === 'scoped') continue;
      const url = await stage.copy(name === 'plinth' ? 'plinth' : 'plain', size, `${name}_${size.items}`);
      databases.set(name, url);
      await stage.settle(url);
    }
    const own = databases.get('plinth')!;
    databases.set('scoped', own);
    const ids = await idsOf(own, wanted.ids);
    const idsFile = join(folder, 'ids.txt');
    await writeFile(idsFile, `${ids.join('\n')}\n`);
    for (const name of names) {
      const settings = name === 'scoped' ? { AUTH: 'bearer', ISSUER: issuer.url, AUDIENCE } : {};
      contestants.set(name, await startContestant(name, databases.get(name) ?? '', settings));
    }
    const token = await issuer.token('ES256');
    const compiled = new Set<string>();
    return await work({
      stage,
      load,
      contestants,
      databases,
      ids,
      idsFile,
      token,
      compiled,
      rounds,
      seconds,
    });
  } finally {
    issuer.close();
    for (const contestant of contestants.values()) await contestant.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function idsOf(url: string, table: 'users' | 'items'): Promise<string[]> {
  const sql = openSql(url, { max: 1 });
  try {
    const [row] = await sql<{ total: number }[]>`select count(*)::integer as total from ${sql(table)}`;
    const step = Math.max(1, Math.floor(row!.total / MAX_IDS));
    const rows = await sql<{ id: string }[]>`
      select id from (select id, row_number() over (order by id) as n from ${sql(table)}) numbered
      where n % ${step}::integer = 0`;
    return rows.map(({ id }) => id);
  } finally {
    await sql.end();
  }
}
