import { type DatabaseServer, serversOf } from '../../database-url/servers.js';

/** Between two renewals of all connections, in milliseconds. */
const RENEW_MS = 2000;

/** The hosts of a database in the order in which they are attempted, which all pools of a database share. */
export class HostOrder {
  /** Whether only a server that accepts writes may be used. */
  readonly requiresPrimary: boolean;
  #servers: readonly DatabaseServer[];
  readonly #renewals = new Set<() => void>();
  readonly #returns = new Set<() => void>();
  #renewedAt = Number.NEGATIVE_INFINITY;
  #isReadOnly = false;

  constructor(url: string) {
    const { servers, requiresPrimary } = serversOf(url);
    this.#servers = servers;
    this.requiresPrimary = requiresPrimary;
  }

  get servers(): readonly DatabaseServer[] {
    return this.#servers;
  }

  /** Calls `renew` when a server turned out to accept no writes: other connections may lead to it as well. */
  onReadOnly(renew: () => void): void {
    this.#renewals.add(renew);
  }

  /** Calls `renew` when a server accepts writes again: connections from before may lead to another one. */
  onWritable(renew: () => void): void {
    this.#returns.add(renew);
  }

  /** Renews all connections, at most once in a while: the database may be read-only for long. */
  noteReadOnly(): void {
    this.#isReadOnly = true;
    const now = performance.now();
    if (now - this.#renewedAt < RENEW_MS) return;
    this.#renewedAt = now;
    for (const renew of this.#renewals) renew();
  }

  /** Must be called when a new connection leads to a server that accepts writes. */
  noteWritable(): void {
    if (!this.#isReadOnly) return;
    this.#isReadOnly = false;
    for (const renew of this.#returns) renew();
  }

  /** Attempts a host first from now on: it is the primary. */
  prefer(server: DatabaseServer): void {
    if (this.#servers[0] !== server)
      this.#servers = [server, ...this.#servers.filter((other) => other !== server)];
  }

  /** Attempts a host last from now on: it does not respond. */
  avoid(server: DatabaseServer): void {
    this.#servers = [...this.#servers.filter((other) => other !== server), server];
  }
}
