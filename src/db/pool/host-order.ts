import { EventEmitter } from 'node:events';
import { type DatabaseServer, serversOf } from '../../database-url/servers.js';

/** Between two renewals of all connections, in milliseconds. */
const RENEW_MS = 2000;

/**
 * The hosts of a database in the order in which they are attempted, which all pools of a database share. Emits `readOnly` when a
 * server turned out to accept no writes: other connections may lead to it as well; and `writable` when a server accepts
 * writes again: connections from before may lead to another one.
 */
export class HostOrder extends EventEmitter<{ readOnly: []; writable: [] }> {
  /** Whether only a server that accepts writes may be used. */
  readonly requiresPrimary: boolean;
  #servers: readonly DatabaseServer[];
  #renewedAt = Number.NEGATIVE_INFINITY;
  #isReadOnly = false;

  constructor(url: string) {
    super();
    const { servers, requiresPrimary } = serversOf(url);
    this.#servers = servers;
    this.requiresPrimary = requiresPrimary;
  }

  get servers(): readonly DatabaseServer[] {
    return this.#servers;
  }

  /** Renews all connections, at most once in a while: the database may be read-only for long. */
  noteReadOnly(): void {
    this.#isReadOnly = true;
    const now = performance.now();
    if (now - this.#renewedAt < RENEW_MS) return;
    this.#renewedAt = now;
    this.emit('readOnly');
  }

  /** Must be called when a new connection leads to a server that accepts writes. */
  noteWritable(): void {
    if (this.#isReadOnly) this.emit('writable');
    this.#isReadOnly = false;
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
