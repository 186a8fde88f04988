import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { chown, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findBinaries } from '../../src/features/embedded/binaries.js';
import { lastWordsOf, pickUser, spawnAs } from '../../src/features/embedded/cluster.js';
import { authority, withoutOpenssl } from '../support/certificates.js';
import { claimPort } from '../support/claimed-port.js';
import { migratedFolder } from '../support/migrated-folder.js';
import { TEMPLATE } from '../support/names.js';
import { isAlive } from '../support/process.js';
import { openSql } from '../support/sql.js';
import type { Test } from '../support/test.js';
import { until } from '../support/until.js';

/** A PostgreSQL that bad things are done to. Its port stays the same. */
export interface Victim {
  readonly url: string;
  /** The URL of a new database, with the declarations of the project as in `url`. */
  database(): Promise<string>;
  /** Resolves when it takes statements. */
  start(): Promise<void>;
  /** As `pg_ctl stop -m fast` does. */
  stop(): Promise<void>;
  /** kill -9 of the postmaster; its children end when they notice. */
  kill(): Promise<void>;
  /** SIGSTOP to all its processes, until `thaw`. */
  freeze(): void;
  thaw(): void;
}

/** Whether services speak TLS with their database, for tests that run with both. */
export const TRANSPORTS: readonly ('plain' | 'TLS')[] =
  withoutOpenssl === false ? ['plain', 'TLS'] : ['plain'];

/**
 * Makes a cluster in a folder of the test's, and starts it. Ended when the test ends. With TLS, it accepts
 * no connection without, the URLs demand `verify-full`, and each session must show a certificate of its own; RULES has the
 * exceptions.
 */
export async function testPostgres(t: Test, transport: 'plain' | 'TLS' = 'plain'): Promise<Victim> {
  const dataDir = await migratedFolder(t);
  const cluster = join(dataDir, 'postgres');
  const tls = transport === 'TLS' ? await demandTls(t, dataDir, cluster) : undefined;
  const settings = tls?.settings ?? [];
  const password = await readFile(join(cluster, 'plinth.password'), 'utf8');
  const binaries = await findBinaries();
  const runAs = await pickUser(dataDir, binaries);
  const port = await claimPort(t);
  const urlOf = (database: string) =>
    `postgres://plinth:${password}@127.0.0.1:${port}/${database}${tls?.parameters ?? ''}`;
  const own = urlOf('postgres').split('?')[0]!;
  const base = ['-D', cluster, '-p', String(port), '-c', 'listen_addresses=127.0.0.1'];
  const more = ['unix_socket_directories=', ...settings].flatMap((setting) => ['-c', setting]);
  let child: ChildProcess | undefined;
  let frozen: number[] = [];

  const start = async (): Promise<void> => {
    child = spawnAs(runAs, binaries.postgres, [...base, ...more]);
    const words = lastWordsOf(child);
    const started = child;
    await until('the database is started', () => {
      if (started.exitCode !== null) throw new Error(`PostgreSQL ended: ${words()}`);
      return isResponding(own, tls?.files);
    });
  };
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    const children = processesOf(child.pid!);
    child.kill(signal);
    await exited;
    await until('its processes have ended', () => !children.some(isAlive));
  };
  const thaw = (): void => {
    // The postmaster last: it reaps processes that have ended, whose ids are gone then.
    for (const pid of frozen.toReversed()) process.kill(pid, 'SIGCONT');
    frozen = [];
  };
  await start();
  t.teardown(async () => {
    thaw();
    await end('SIGQUIT');
  });
  return {
    url: urlOf('postgres'),
    database: async () => {
      const name = `test_${randomBytes(6).toString('hex')}`;
      const sql = openSql(own, { max: 1, onnotice: () => undefined, ssl: tls?.files ?? false });
      await sql.unsafe(`create database ${name} template ${TEMPLATE} strategy file_copy`);
      await sql.end();
      return urlOf(name);
    },
    start,
    stop: () => end('SIGINT'),
    kill: () => end('SIGKILL'),
    freeze: () => {
      // The postmaster first: then there are no more to come.
      process.kill(child!.pid!, 'SIGSTOP');
      frozen = processesOf(child!.pid!);
      for (const pid of frozen) process.kill(pid, 'SIGSTOP');
    },
    thaw,
  };
}

/** Roles of a cluster with TLS that a test may create: one without TLS, and one without a certificate of its own. */
export const [WITHOUT_TLS, WITHOUT_CERTIFICATE] = ['without_tls', 'without_certificate'];

const RULES = [
  `hostnossl all ${WITHOUT_TLS} &scram-sha-256`,
  `hostssl all ${WITHOUT_TLS} &reject`,
  `hostssl all ${WITHOUT_CERTIFICATE} &scram-sha-256`,
  'hostssl all all &scram-sha-256 clientcert=verify-ca',
];

interface TlsFiles {
  readonly cert: string;
  readonly key: string;
  readonly rejectUnauthorized: false;
}

/** Makes a certificate for a cluster, which then accepts only TLS, and only clients of the same authority. */
async function demandTls(t: Test, dataDir: string, cluster: string) {
  const ca = authority(t);
  const [server, client] = [ca.sign('server'), ca.sign('client')];
  const [certFile, keyFile, caFile] = ['server.crt', 'server.key', 'ca.crt'].map((name) =>
    join(cluster, name),
  );
  await Promise.all([
    writeFile(certFile!, server.cert),
    writeFile(keyFile!, server.key, { mode: 0o600 }),
    writeFile(caFile!, ca.cert),
    writeFile(
      join(cluster, 'pg_hba.conf'),
      `${RULES.map((rule) => rule.replace('&', '127.0.0.1/32 ')).join('\n')}\n`,
    ),
  ]);
  const runAs = await pickUser(dataDir, await findBinaries());
  if (runAs) for (const file of [certFile, keyFile, caFile]) await chown(file!, runAs.uid, runAs.gid);
  // The driver would compare an address with the name localhost.
  const files: TlsFiles = { cert: client.cert, key: client.key, rejectUnauthorized: false };
  return {
    files,
    parameters: `?sslmode=verify-full&sslrootcert=${ca.certFile}&sslcert=${client.certFile}&sslkey=${client.keyFile}`,
    settings: ['ssl=on', `ssl_cert_file=${certFile}`, `ssl_key_file=${keyFile}`, `ssl_ca_file=${caFile}`],
  };
}

async function isResponding(url: string, tls: TlsFiles | undefined): Promise<boolean> {
  const sql = openSql(url, {
    max: 1,
    connect_timeout: 1,
    fetch_types: false,
    onnotice: () => undefined,
    ssl: tls ?? false,
  });
  try {
    await sql`select 1`;
    return true;
  } catch {
    return false;
  } finally {
    await sql.end({ timeout: 0 });
  }
}

/** A process and those that it has started. */
function processesOf(pid: number): number[] {
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => parentOf(name) === pid);
  return [pid, ...children.map(Number)];
}

function parentOf(pid: string): number | undefined {
  try {
    return Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  } catch {
    // The process has ended meanwhile.
    return undefined;
  }
}
