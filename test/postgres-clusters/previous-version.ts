import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
/** Features have migrations of their own. */
const MIGRATIONS = ':(glob)sql/**/migrations/*.sql';
const PARTS = ['src', 'sql', 'collections', 'schema', 'package.json'];

const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();

/**
 * The last commit without the newest migration whose migrations have not changed since, except those from before the baseline:
 * a database refuses changed ones.
 * Undefined: there is no history here.
 */
export function previousCommit(): string | undefined {
  let added = '';
  try {
    for (let path = MIGRATIONS; ; ) {
      added = git('log', '-1', '--diff-filter=A', '--format=%H', ...(added ? [`${added}^`] : []), '--', path);
      const commit = git('rev-parse', '--verify', '--quiet', `${added}^`);
      const changed = git(
        'diff',
        '--name-only',
        '--no-renames',
        '--diff-filter=MD',
        commit,
        '--',
        MIGRATIONS,
      );
      [path = ''] = changed.split('\n').filter((name) => basename(name) >= '02');
      if (path === '') return commit;
    }
  } catch {
    return undefined;
  }
}

/** The migrations that this version has and a commit has not. */
export function migrationsSince(commit: string): string[] {
  return git('diff', '--name-only', '--no-renames', '--diff-filter=A', commit, '--', MIGRATIONS).split('\n');
}

/** Builds a commit in a folder, with the packages that are installed here. Gives the file that runs its service. */
export async function buildCommit(folder: string, commit: string): Promise<string> {
  const archive = join(folder, 'commit.tar');
  const there = git('ls-tree', '--name-only', commit).split('\n');
  git('archive', `--output=${archive}`, commit, ...PARTS.filter((name) => there.includes(name)));
  execFileSync('tar', ['-xf', archive, '-C', folder]);
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  mkdirSync(join(folder, 'dist'));
  const sources = readdirSync(join(folder, 'src'), { recursive: true, encoding: 'utf8' });
  await build({
    entryPoints: sources.filter((name) => name.endsWith('.ts')).map((name) => join(folder, 'src', name)),
    outbase: folder,
    outdir: join(folder, 'dist'),
    format: 'esm',
    target: 'node20',
    logLevel: 'silent',
  });
  return join(folder, 'dist/src/main.js');
}
