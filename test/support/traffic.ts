import type { App } from '../../src/app.js';
import type { ServiceResponse } from './send.js';

const LAST = 15;
const LINES = 30;
const LENGTH = 300;

/** The requests that a test has sent to a service, for the message of its failure. */
export class Traffic {
  readonly #open = new Set<string>();
  readonly #ended: string[] = [];

  /** Remembers a request until `response` has come, and then its outcome. */
  async follow<T extends ServiceResponse | string>(request: string, response: Promise<T>): Promise<T> {
    this.#open.add(request);
    const ended = (outcome: string) => {
      this.#open.delete(request);
      this.#ended.push(`${request}: ${outcome.slice(0, LENGTH)}`);
      if (this.#ended.length > LAST) this.#ended.shift();
    };
    try {
      const received = await response;
      ended(typeof received === 'string' ? received : `${received.status} ${received.text}`);
      return received;
    } catch (error) {
      ended(String(error));
      throw error;
    }
  }

  /** The state of a service in a few lines: its last requests, those in flight, and the end of its log. */
  state({ url, isInMaintenance }: App, logged: readonly string[]): string {
    return [
      `the service ${url}${isInMaintenance() ? ' is in maintenance' : ''}`,
      ...this.#ended.map((line) => `responded: ${line}`),
      ...[...this.#open].map((request) => `in flight: ${request}`),
      ...logged.slice(-LINES).map((line) => `logged: ${line.trimEnd().slice(0, LENGTH)}`),
    ].join('\n');
  }
}
