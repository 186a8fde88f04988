import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type postgres from 'postgres';
import { REPLACED } from '../../src/db/replaced-migrations.js';
import { SCHEMA } from './sql.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const FIRST = 'sql/migrations/0001_counts.sql';

const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

export interface FormerMigration {
  readonly name: string;
  readonly folder: string;
  readonly text: string;
}

/**
 * The migrations that the baselines of these folders replace, in their order, from the last commit that has their files.
 * Undefined: this clone has no history of them.
 */
export function formerMigrations(...folders: string[]): FormerMigration[] | undefined {
  try {
    const removed = git('log', '-1', '--diff-filter=D', '--format=%H', '--', FIRST).trim();
    const commit = removed === '' ? 'HEAD' : `${removed}^`;
    const read = (path: string) => git('show', `${commit}:${path}`);
    read(FIRST);
    return folders
      .flatMap((folder) => Object.keys(REPLACED[folder]!).map((name) => ({ name, folder })))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map((each) => ({ ...each, text: read(`sql/${each.folder}/${each.name}`) }));
  } catch {
    return undefined;
  }
}

/** Makes the tables of the version before the baseline in an empty database, as that version records them. */
export async function applyFormer(sql: postgres.Sql, migrations: readonly FormerMigration[]): Promise<void> {
  await sql`create table migrations (
    name text primary key, checksum text not null, applied_at timestamptz not null default now())`;
  await sql`select set_config('plinth.collections_schema', ${SCHEMA}, false)`;
  for (const { name, folder, text } of migrations) {
    await sql.begin((tx) => tx.unsafe(text));
    await sql`insert into migrations (name, checksum) values (${name}, ${REPLACED[folder]![name]!})`;
  }
}
