import { knownServers } from '../../database-url.js';

/** The hosts of a database in the order in which they are attempted, which all pools of a database share. */
export class HostOrder {
  /** Whether only a server that accepts writes may be used. */
  readonly requiresPrimary: boolean;
  #urls: readonly string[];

  constructor(url: string) {
    const { urls, requiresPrimary } = knownServers(url);
    this.#urls = urls;
    this.requiresPrimary = requiresPrimary;
  }

  /** A URL for each host. */
  get urls(): readonly string[] {
    return this.#urls;
  }

  /** Attempts a host first from now on: it is the primary. */
  prefer(url: string): void {
    if (this.#urls[0] !== url) this.#urls = [url, ...this.#urls.filter((other) => other !== url)];
  }

  /** Attempts a host last from now on: it does not respond. */
  avoid(url: string): void {
    this.#urls = [...this.#urls.filter((other) => other !== url), url];
  }
}
