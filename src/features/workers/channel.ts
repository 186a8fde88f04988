import type { Worker } from 'node:cluster';

/**
 * From the primary: `stop`, `reload`, `maintenance` with whether it is on, and the question `metrics`. From a worker: `ready`
 * with its URL, and the questions `collect`, for the metrics of all workers, and `leave`. No connection follows the reply to
 * `leave`, which a worker sends when it listens no more: Node returns a connection that arrives later to the primary, which
 * gives it to another worker. If the worker exited without having read of it, the client would wait without end.
 */
type Name = 'stop' | 'reload' | 'maintenance' | 'metrics' | 'ready' | 'collect' | 'leave';

interface Message {
  readonly name: Name | 'reply';
  readonly value?: unknown;
  /** Numbers a question, and its reply. */
  readonly question?: number | undefined;
}

export type Handlers = Readonly<Partial<Record<Name, (value: never) => unknown>>>;

/** One end of the connection between the primary and a worker. */
export class Channel {
  #questions = 0;
  readonly #waiting = new Map<number, (value?: unknown) => void>();

  /** Handles messages from now on. The result of a handler is the reply to a question. */
  constructor(
    readonly peer: Pick<Worker, 'isConnected' | 'send' | 'on'>,
    readonly handlers: Handlers,
  ) {
    peer.on('message', (message: Message) => void this.#receive(message));
    peer.on('disconnect', () => {
      for (const resolve of this.#waiting.values()) resolve();
    });
  }

  /** Does nothing when the other end is gone, which `disconnect` reports. */
  send(name: Message['name'], value?: unknown, question?: number): void {
    if (this.peer.isConnected()) this.peer.send({ name, value, question }, () => undefined);
  }

  /** The reply of the other end; undefined: there is none in time, or the other end is gone. */
  ask(name: Name, timeoutMs: number): Promise<unknown> {
    if (!this.peer.isConnected()) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const question = ++this.#questions;
      const settle = (value?: unknown): void => {
        clearTimeout(timer);
        this.#waiting.delete(question);
        resolve(value);
      };
      const timer = setTimeout(settle, timeoutMs);
      this.#waiting.set(question, settle);
      this.send(name, undefined, question);
    });
  }

  async #receive({ name, value, question }: Message): Promise<void> {
    if (name === 'reply') return this.#waiting.get(question!)?.(value);
    const reply = await Promise.resolve(this.handlers[name]?.(value as never)).catch(() => undefined);
    if (question !== undefined) this.send('reply', reply, question);
  }
}
