import type { Primary } from '../app.js';
import type { Order, Report } from './messages.js';
import { ANSWER_MS } from './metrics-collector.js';

/** What the primary may ask of a worker. */
export interface Orders {
  stop(): void;
  reload(): void;
  setMaintenance(on: boolean): void;
  /** What this worker has counted, as plain data; undefined while there is nothing. */
  figures(): Promise<unknown>;
}

/** The primary as seen by one who has joined it. */
export interface Joined extends Primary {
  /** Says that this worker answers requests. */
  ready(url: string): void;
}

/** The primary waits for its workers, and answers when the last of them is late. */
const COLLECT_MS = 3 * ANSWER_MS;

interface Question {
  readonly number: number;
  readonly answer: (figures: readonly unknown[]) => void;
}

/** Takes orders from the primary from now on. */
export function joinPrimary(orders: Orders): Joined {
  let questions = 0;
  let open: Question | undefined;
  let collected: Promise<readonly unknown[]> | undefined;

  const ask = (): Promise<readonly unknown[]> =>
    new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        open = undefined;
        reject(new Error('the primary did not answer in time'));
      }, COLLECT_MS);
      const answer = (figures: readonly unknown[]): void => {
        clearTimeout(late);
        open = undefined;
        resolve(figures);
      };
      open = { number: ++questions, answer };
      report({ report: 'collect', question: open.number });
    });

  const take: { [K in Order['order']]: (order: Extract<Order, { order: K }>) => void } = {
    stop: () => orders.stop(),
    reload: () => orders.reload(),
    maintenance: ({ on }) => orders.setMaintenance(on),
    figures: ({ question }) => {
      const tell = (figures: unknown) => report({ report: 'figures', question, figures });
      // Who cannot tell is not waited for.
      orders.figures().then(tell, () => tell(undefined));
    },
    collected: ({ question, figures }) => {
      if (open?.number === question) open.answer(figures);
    },
  };
  process.on('message', (order: Order) => take[order.order]?.(order as never));

  return {
    ready: (url) => report({ report: 'ready', url }),
    collect: () => {
      collected ??= ask().finally(() => {
        collected = undefined;
      });
      return collected;
    },
  };
}

/** A primary that is gone hears nothing; that it is shows in `disconnect`. */
function report(message: Report): void {
  if (process.connected) process.send!(message, undefined, undefined, () => undefined);
}
