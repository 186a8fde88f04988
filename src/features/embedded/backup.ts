import {
  chown,
  constants,
  copyFile,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { withSession } from '../../db/session.js';
import { EmbeddedError, type RunAs } from './cluster.js';
import { type Embedded, joinEmbedded, startEmbedded, userOf } from './embedded.js';

/** How long the server may take to accept a connection. */
const CONNECT_MS = 30_000;
/** The file that a server reads first. It is copied last, as PostgreSQL requires. */
const CONTROL = 'global/pg_control';
/** Folders whose files a server writes anew when it starts, and files of its process. */
const FOLDERS_LEFT_OUT = /^pg_(?:wal|replslot|dynshmem|notify|serial|snapshots|stat_tmp|subtrans)$/;
const FILES_LEFT_OUT =
  /^(?:postmaster\.(?:pid|opts)|backup_label|tablespace_map|recovery\.signal|pgsql_tmp.*|\.s\.PGSQL\..*|pg_internal\.init.*)$/;

export interface Copied {
  readonly files: number;
  readonly bytes: number;
}

/**
 * Copies the embedded database to a new folder, also while a service writes: its files, and the log from the beginning to the
 * end of the copy, by which they are made consistent (chapter 25.3.4 of PostgreSQL's manual). The folder has its name when
 * it is complete. Throws EmbeddedError.
 */
export async function backUp(dataDir: string, folder: string): Promise<Copied> {
  const target = resolve(folder);
  await requireAbsent(target);
  await requireOutside(join(resolve(dataDir), 'postgres'), target);
  if (!(await lstat(join(dataDir, 'postgres', 'PG_VERSION')).catch(() => undefined)))
    throw new EmbeddedError(`there is no database in DATA_DIR ${dataDir}`);
  const embedded = await joinEmbedded({ dataDir });
  try {
    return await inFolder(target, async (aside) => {
      const options = { connectMs: CONNECT_MS, settings: { application_name: 'plinth backup' } };
      return await withSession(embedded.url, options, (sql) =>
        copyCluster(sql, join(resolve(dataDir), 'postgres'), join(aside, 'postgres')),
      );
    });
  } finally {
    await embedded.stop();
  }
}

type Sql = Parameters<Parameters<typeof withSession>[2]>[0];

async function copyCluster(sql: Sql, from: string, to: string): Promise<Copied> {
  // The server retains the log for the slot, which ends with the session.
  await sql`select pg_create_physical_replication_slot('plinth_backup_' || pg_backend_pid(), true, true)`;
  const [begun] = await sql`select pg_walfile_name(pg_backup_start('plinth', true)) as segment`;
  const copied = await copyFolder(from, to, isPartOfCopy);
  // The server writes the file meanwhile: two reads that agree have all of one write.
  let control = await readFile(join(from, CONTROL));
  for (let last: Buffer | undefined; !last?.equals(control); ) {
    last = control;
    control = await readFile(join(from, CONTROL));
  }
  await writeToDisk(join(to, CONTROL), control);
  const [ended] = await sql`
    select pg_walfile_name(lsn) as segment, labelfile from pg_backup_stop(false)`;
  await writeToDisk(join(to, 'backup_label'), ended!.labelfile as string);
  const [first, last] = [begun!.segment as string, ended!.segment as string];
  const log = await copyFolder(join(from, 'pg_wal'), join(to, 'pg_wal'), (name) => {
    return /^[0-9A-F]{24}$/.test(name) && name >= first && name <= last;
  });
  return { files: copied.files + log.files + 2, bytes: copied.bytes + log.bytes + control.length };
}

const isPartOfCopy = (path: string) =>
  path !== CONTROL && !FILES_LEFT_OUT.test(basename(path)) && !FOLDERS_LEFT_OUT.test(dirname(path));

/**
 * Makes the embedded database of a folder that has none from a backup, and starts it once, which makes its files consistent.
 * It begins a new timeline, so that positions in the feed from after the backup are recognized. Throws EmbeddedError.
 */
export async function restore(dataDir: string, folder: string): Promise<Copied> {
  const source = join(resolve(folder), 'postgres');
  const label = await readFile(join(source, 'backup_label'), 'utf8').catch(() => undefined);
  if (label === undefined) throw new EmbeddedError(`${folder} is not a complete backup of this service`);
  const target = join(resolve(dataDir), 'postgres');
  await requireAbsent(target);
  const user = await userOf(dataDir);
  const copied = await inFolder(target, async (aside) => {
    const found = await copyFolder(source, aside);
    await writeToDisk(join(aside, 'recovery.signal'), '');
    if (user) await give(aside, user);
    return found;
  });
  // There is no archive: the log is in the backup. Nobody connects before its end.
  const settings = ['restore_command=exit 1', 'hot_standby=off'];
  let embedded: Embedded;
  try {
    embedded = await startEmbedded({ dataDir, settings });
  } catch (error) {
    await rm(target, { recursive: true, force: true });
    throw error;
  }
  await embedded.stop();
  return copied;
}

async function requireAbsent(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (found) throw new EmbeddedError(`${path} exists already: name another folder, or move it away`);
}

/** A backup within the database would contain itself. */
async function requireOutside(database: string, target: string): Promise<void> {
  const real = await realpath(database).catch(() => database);
  for (let path = target; path !== dirname(path); path = dirname(path))
    if ((await realpath(path).catch(() => path)) === real)
      throw new EmbeddedError(`${target} is within the database: name a folder elsewhere`);
}

/** Gives `work` a folder that has its name when the work is done. */
async function inFolder<T>(path: string, work: (aside: string) => Promise<T>): Promise<T> {
  try {
    await mkdir(dirname(path), { recursive: true });
    const aside = await mkdtemp(join(dirname(path), `.${basename(path)}-`));
    try {
      const result = await work(aside);
      await rename(aside, path);
      return result;
    } finally {
      await rm(aside, { recursive: true, force: true });
    }
  } catch (error) {
    if (error instanceof EmbeddedError || !isFileError(error)) throw error;
    throw new EmbeddedError(`the files cannot be copied: ${error.message}`, { cause: error });
  }
}

const isFileError = (error: unknown): error is NodeJS.ErrnoException =>
  typeof (error as NodeJS.ErrnoException).syscall === 'string' && 'path' in (error as object);

/** Copies the files of a folder to the disk, of those paths in it that `isCopied` names, and counts them. */
async function copyFolder(
  from: string,
  to: string,
  isCopied: (path: string) => boolean = () => true,
  folder = '',
): Promise<Copied> {
  await mkdir(join(to, folder), { recursive: true, mode: 0o700 });
  let [files, bytes] = [0, 0];
  for (const entry of await readdir(join(from, folder), { withFileTypes: true })) {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (!isCopied(path)) continue;
    const copied = entry.isDirectory()
      ? await copyFolder(from, to, isCopied, path)
      : await copyToDisk(join(from, path), join(to, path));
    files += copied.files;
    bytes += copied.bytes;
  }
  return { files, bytes };
}

/** A file that the server removes meanwhile is not part of what its log restores. */
async function copyToDisk(from: string, to: string): Promise<Copied> {
  try {
    await copyFile(from, to, constants.COPYFILE_EXCL);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { files: 0, bytes: 0 };
    throw error;
  }
  const file = await open(to, 'r+');
  try {
    await file.sync();
    return { files: 1, bytes: (await file.stat()).size };
  } finally {
    await file.close();
  }
}

const writeToDisk = (path: string, content: string | Buffer) =>
  writeFile(path, content, { mode: 0o600, flush: true });

/** Gives a folder and all in it to a user. */
async function give(folder: string, { uid, gid }: RunAs): Promise<void> {
  for (const name of ['', ...(await readdir(folder, { recursive: true }))])
    await chown(join(folder, name), uid, gid);
}
