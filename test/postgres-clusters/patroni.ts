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
  const primary = () =>
    until('there is a primary', async () => {
      for (const node of nodes) if (await node.isPrimary()) return node;
      return undefined;
    });
  await primary();
  for (const node of others) node.start();
  const cluster: PatroniCluster = {
    nodes,
    etcd,
    url: `postgres://postgres:secret@${nodes.map(({ host }) => `${host.address}:5432`).join(',')}/postgres`,
    primary,
    healthy: () => isHealthy(nodes, primary),
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

async function isHealthy(nodes: readonly Node[], primary: () => Promise<Node>): Promise<void> {
  await until('all nodes follow the primary', async () => {
    const { host } = await primary();
    const response = await fetch(`http://${host.address}:8008/cluster`).catch(() => undefined);
    if (response?.status !== 200) return false;
    const { members } = (await response.json()) as { members: Member[] };
    const isRunning = members.length === nodes.length && members.every(({ state }) => state === 'running');
    const roles = members.map(({ role }) => role).sort();
    return isRunning && roles.join() === 'leader,replica,sync_standby';
  });
}

function configOf(host: Host, home: string, etcd: string): object {
  return {
    scope: 'plinth',
    name: host.name,
    restapi: { listen: `${host.address}:8008`, connect_address: `${host.address}:8008` },
    etcd3: { hosts: `${etcd}:2379` },
    bootstrap: {
      dcs: {
        // The shortest that Patroni allows.
        ttl: 20,
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
      pg_hba: ['host all all 0.0.0.0/0 scram-sha-256', 'host replication all 0.0.0.0/0 scram-sha-256'],
    },
    postgresql: {
      listen: `${host.address}:5432`,
      connect_address: `${host.address}:5432`,
      data_dir: join(home, 'data'),
      bin_dir: POSTGRES_BIN,
      pgpass: join(home, 'pgpass'),
      parameters: { unix_socket_directories: home },
      authentication: {
        superuser: { username: 'postgres', password: 'secret' },
        replication: { username: 'replicator', password: 'secret' },
        rewind: { username: 'postgres', password: 'secret' },
      },
    },
  };
}
