import { chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from '../support/test.js';
import { until } from '../support/until.js';
import { type Host, killAll, testNetwork } from './network.js';
import { finish, POSTGRES_BIN, type Running, run } from './programs.js';

/** A node as Patroni reports it. */
interface Member {
  readonly name: string;
  readonly role: string;
  readonly state: string;
}

/** A PostgreSQL that Patroni manages, on a host of its own. */
export class Node {
  #running: Running | undefined;

  constructor(
    readonly t: Test,
    readonly host: Host,
    readonly config: string,
  ) {}

  get name(): string {
    return this.host.name;
  }

  /** The URL of the node's database alone. */
  get url(): string {
    return `postgres://postgres:secret@${this.host.address}:5432/postgres`;
  }

  start(): void {
    this.#running = run(this.t, ['patroni', this.config], { user: 'postgres', host: this.host.name });
  }

  /** kill -9 of all that runs on the host. */
  async kill(): Promise<void> {
    killAll(this.host.name);
    await this.#running?.kill();
  }

  output = (): string => this.#running?.output() ?? '';

  /** Whether it has the role of the primary, as Patroni tells load balancers. */
  isPrimary = (): Promise<boolean> => this.#responds('/primary');
  isReplica = (): Promise<boolean> => this.#responds('/replica');

  async #responds(path: string): Promise<boolean> {
    const url = `http://${this.host.address}:8008${path}`;
    const response = await fetch(url, { signal: AbortSignal.timeout(1000) }).catch(() => undefined);
    return response?.status === 200;
  }
}

export interface PatroniCluster {
  readonly nodes: readonly Node[];
  /** The host of etcd. */
  readonly etcd: Host;
  /** A database URL that names all nodes. */
  readonly url: string;
  /** The node that is the primary, once there is one. */
  primary(): Promise<Node>;
  /** Resolves when there is a primary, and all other nodes follow it, one of them synchronously. */
  healthy(): Promise<void>;
  /** Makes another node the primary, as planned. */
  switchover(from: Node): Promise<void>;
}

/** Three nodes with synchronous replication, and etcd, each on a host of its own. Ended when the test ends. */
export async function testPatroni(t: Test): Promise<PatroniCluster> {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-patroni-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }));
  const postgres = Number(finish(['id', '-u', 'postgres']));
  chownSync(folder, postgres, postgres);
  const network = testNetwork(t);
  const etcd = network.add();
  const etcdUrl = `http://${etcd.address}:2379`;
  const store = ['--data-dir', join(folder, 'etcd'), '--listen-peer-urls', 'http://127.0.0.1:2380'];
  const urls = ['--listen-client-urls', etcdUrl, '--advertise-client-urls', etcdUrl];
  run(t, ['etcd', ...store, ...urls], {
    host: etcd.name,
  });
  const nodes = Array.from({ length: 3 }, () => {
    const host = network.add();
    const home = join(folder, host.name);
    mkdirSync(home);
    chownSync(home, postgres, postgres);
    const file = join(home, 'patroni.json');
    writeFileSync(file, JSON.stringify(configOf(host, home, etcd.address)));
    return new Node(t, host, file);
  });
  const [first, ...others] = nodes as [Node, ...Node[]];
  first.start();
  const primary = async () => {
    const leader = async () => {
      for (const node of nodes) if (await node.isPrimary()) return node;
      return undefined;
    };
    const found = await until('there is a primary', leader, (node) => node !== undefined, FAILOVER_MS);
    return found!;
  };
  await primary();
  for (const node of others) node.start();
  const cluster: PatroniCluster = {
    nodes,
    etcd,
    url: `postgres://postgres:secret@${nodes.map(({ host }) => `${host.address}:5432`).join(',')}/postgres`,
    primary,
    healthy: async () => {
      const waited = until(
        'all nodes follow the primary',
        async () => membersOf(await primary()),
        (members) => isHealthy(members, nodes.length),
        FAILOVER_MS,
      );
      await waited.catch((error: Error) => {
        throw new Error(`${error.message}\n${logsOf(nodes)}`, { cause: error });
      });
    },
    switchover: async (from) => {
      const body = JSON.stringify({ leader: from.name });
      const url = `http://${from.host.address}:8008/switchover`;
      const response = await fetch(url, { method: 'POST', body });
      if (response.status !== 200) throw new Error(`switchover: ${response.status} ${await response.text()}`);
    },
  };
  await cluster.healthy();
  return cluster;
}

/**
 * Roles change after Patroni's lease of 10 or 20 s, and a node that comes back may need `pg_rewind` or a new copy of the primary
 * first, so these waits are longer than those of other tests.
 */
export const FAILOVER_MS = 300_000;

const isHealthy = (members: readonly Member[] | string, nodes: number): boolean =>
  typeof members !== 'string' &&
  members.length === nodes &&
  members.every(({ state }) => state === 'running') &&
  members
    .map(({ role }) => role)
    .sort()
    .join() === 'leader,replica,sync_standby';

/** All nodes as the primary's Patroni reports them, or why it reports none. */
async function membersOf(primary: Node): Promise<readonly Member[] | string> {
  const url = `http://${primary.host.address}:8008/cluster`;
  const response = await fetch(url).catch(String);
  if (typeof response === 'string') return response;
  if (response.status !== 200) return `status ${response.status}`;
  const { members } = (await response.json()) as { members: Member[] };
  return members.map(({ name, role, state }) => ({ name, role, state }));
}

/** The end of what each node's Patroni wrote, for a test that waited in vain. */
function logsOf(nodes: readonly Node[]): string {
  return nodes.map((node) => `${node.name}:\n${node.output().slice(-2000)}`).join('\n');
}

const HBA = ['host all all 0.0.0.0/0 scram-sha-256', 'host replication all 0.0.0.0/0 scram-sha-256'];

function configOf(host: Host, home: string, etcd: string): object {
  return {
    scope: 'plinth',
    name: host.name,
    restapi: { listen: `${host.address}:8008`, connect_address: `${host.address}:8008` },
    etcd3: { hosts: `${etcd}:2379` },
    bootstrap: {
      dcs: {
        // As short as the wait for a lost etcd allows; later versions of Patroni take 20 seconds at least.
        ttl: 10,
        loop_wait: 1,
        retry_timeout: 3,
        primary_start_timeout: 0,
        synchronous_mode: true,
        postgresql: {
          use_pg_rewind: true,
          parameters: { max_connections: 200, fsync: 'off', wal_keep_size: '256MB', wal_log_hints: 'on' },
        },
      },
      initdb: [{ encoding: 'UTF8' }, 'data-checksums'],
      pg_hba: HBA,
    },
    postgresql: {
      listen: `${host.address}:5432`,
      connect_address: `${host.address}:5432`,
      data_dir: join(home, 'data'),
      bin_dir: POSTGRES_BIN,
      pgpass: join(home, 'pgpass'),
      // Patroni writes the file at each start: one that was killed while it copied the file would leave it empty.
      pg_hba: ['local all all trust', ...HBA],
      parameters: { unix_socket_directories: home },
      authentication: {
        superuser: { username: 'postgres', password: 'secret' },
        replication: { username: 'replicator', password: 'secret' },
        rewind: { username: 'postgres', password: 'secret' },
      },
    },
  };
}
