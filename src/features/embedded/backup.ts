import type { Dirent } from 'node:fs';
import {
  chmod,
  chown,
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
import { type Embedded, joinEmbedded, makeFolders, startEmbedded, userOf } from './embedded.js';

/** How long the server may take to accept a connection. */
const CONNECT_MS = 30_000;
/** Files that a server writes anew when it starts, and files of its process. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'pg_wal',
  'pg_replslot',
  'pg_dynshmem',
  'pg_notify',
  'pg_serial',
  'pg_snapshots',
  'pg_stat_tmp',
  'pg_subtrans',
]);
const FILES_LEFT_OUT =
  /^(?:postmaster\.(?:pid|opts)|backup_label|tablespace_map|recovery\.signal|pgsql_tmp.*|\.s\.PGSQL\..*|pg_internal\.init.*)$/;
/** The file that a server reads first. It is copied last, as PostgreSQL requires. */
const CONTROL = 'pg_control';
/** Bytes that are copied at a time. */
const CHUNK = 1_048_576;

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
      const copy = new Copy(undefined);
      await withSession(
        embedded.url,
        { connectMs: CONNECT_MS, settings: { application_name: 'plinth backup' } },
        (sql) => copyCluster(sql, join(resolve(dataDir), 'postgres'), join(aside, 'postgres'), copy),
      );
      return copy;
    });
  } finally {
    await embedded.stop();
  }
}

type Sql = Parameters<Parameters<typeof withSession>[2]>[0];

async function copyCluster(sql: Sql, from: string, to: string, copy: Copy): Promise<void> {
  // The server retains the log for the slot, which ends with the session.
  await sql`select pg_create_physical_replication_slot('plinth_backup_' || pg_backend_pid(), true, true)`;
  const [begun] = await sql`select pg_walfile_name(pg_backup_start('plinth', true)) as segment`;
  await copy.folder(from, to);
  await copy.control(join(from, 'global', CONTROL), join(to, 'global', CONTROL));
  const [ended] = await sql`
    select pg_walfile_name(lsn) as segment, labelfile from pg_backup_stop(false)`;
  await copy.write(join(to, 'backup_label'), ended!.labelfile as string);
  const [first, last] = [begun!.segment as string, ended!.segment as string];
  for (const name of (await readdir(join(from, 'pg_wal'))).sort())
    if (/^[0-9A-F]{24}$/.test(name) && name >= first && name <= last)
      await copy.file(join(from, 'pg_wal', name), join(to, 'pg_wal', name));
}

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
  const copy = new Copy(await userOf(dataDir));
  await inFolder(
    target,
    async (aside) => {
      await copy.folder(source, aside, new Set());
      await copy.write(join(aside, 'recovery.signal'), '');
    },
    copy.user,
  );
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
  return copy;
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
async function inFolder<T>(path: string, work: (aside: string) => Promise<T>, user?: RunAs): Promise<T> {
  try {
    await makeFolders(dirname(path));
    const aside = await mkdtemp(join(dirname(path), `.${basename(path)}-`));
    try {
      if (user) await chown(aside, user.uid, user.gid);
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

/** Copies files to the disk, and counts them. */
class Copy implements Copied {
  files = 0;
  bytes = 0;

  constructor(readonly user: RunAs | undefined) {}

  /** Copies a folder. Files that the server removes meanwhile are not part of what its log restores. */
  async folder(from: string, to: string, leftOut: ReadonlySet<string> = LEFT_OUT): Promise<void> {
    await this.#make(to);
    for (const entry of await readdir(from, { withFileTypes: true })) {
      const [source, target] = [join(from, entry.name), join(to, entry.name)];
      if (entry.isDirectory()) {
        if (!leftOut.has(entry.name)) await this.folder(source, target, leftOut);
        else await this.#empty(source, target);
      } else if (leftOut.size === 0 || isCopied(entry)) await this.file(source, target);
    }
  }

  /** The folders of one that is left out remain, without their files. */
  async #empty(from: string, to: string): Promise<void> {
    await this.#make(to);
    if (basename(from) !== 'pg_wal') return;
    for (const entry of await readdir(from, { withFileTypes: true }))
      if (entry.isDirectory()) await this.#make(join(to, entry.name));
  }

  async file(from: string, to: string): Promise<void> {
    const source = await open(from).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (!source) return;
    try {
      const target = await open(to, 'wx', 0o600);
      try {
        const chunk = Buffer.allocUnsafe(CHUNK);
        for (;;) {
          const { bytesRead } = await source.read(chunk, 0, CHUNK);
          if (bytesRead === 0) break;
          await target.writeFile(chunk.subarray(0, bytesRead));
          this.bytes += bytesRead;
        }
        await target.sync();
      } finally {
        await target.close();
      }
    } finally {
      await source.close();
    }
    await this.#own(to);
    this.files++;
  }

  /** Copies a file that is read while it is written: two reads that agree have all of one write. */
  async control(from: string, to: string): Promise<void> {
    for (let last = await readFile(from); ; ) {
      const content = await readFile(from);
      if (content.equals(last)) return this.write(to, content);
      last = content;
    }
  }

  async write(to: string, content: string | Buffer): Promise<void> {
    await writeFile(to, content, { mode: 0o600, flush: true });
    await this.#own(to);
    this.files++;
    this.bytes += Buffer.byteLength(content);
  }

  async #make(folder: string): Promise<void> {
    await mkdir(folder, { recursive: true });
    await chmod(folder, 0o700);
    await this.#own(folder);
  }

  async #own(path: string): Promise<void> {
    if (this.user) await chown(path, this.user.uid, this.user.gid);
  }
}

const isCopied = ({ name }: Dirent) => !FILES_LEFT_OUT.test(name) && name !== CONTROL;
