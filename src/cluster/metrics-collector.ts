import type { Order } from './messages.js';

/** A worker, as far as figures go. */
export interface Teller {
  readonly id: number;
  isConnected(): boolean;
}

export interface Collector {
  /**
   * The figures of every worker that answers in time. Who asks while others wait gets the same, so that there is one
   * round at a time however many ask.
   */
  collect(): Promise<readonly unknown[]>;
  /** Takes a worker's answer; one to a round that is over is dropped. */
  take(teller: Teller, question: number, figures: unknown): void;
  /** A worker that has ended is waited for no longer. */
  forget(teller: Teller): void;
}

/** How long a worker may take for its answer; one that is busy for longer is left out. */
export const ANSWER_MS = 1000;

interface Round {
  readonly question: number;
  readonly waiting: Set<number>;
  readonly figures: unknown[];
  readonly end: () => void;
}

/** Asks all workers for what they have counted. */
export function createCollector(
  tellers: () => readonly Teller[],
  tell: (teller: Teller, order: Order) => void,
  answerMs = ANSWER_MS,
): Collector {
  let questions = 0;
  let round: Round | undefined;
  let collected: Promise<readonly unknown[]> | undefined;

  function ask(): Promise<readonly unknown[]> {
    const asked = tellers().filter((teller) => teller.isConnected());
    if (asked.length === 0) return Promise.resolve([]);
    return new Promise((resolve) => {
      const figures: unknown[] = [];
      const late = setTimeout(() => current.end(), answerMs);
      const current: Round = {
        question: ++questions,
        waiting: new Set(asked.map(({ id }) => id)),
        figures,
        end: () => {
          clearTimeout(late);
          round = undefined;
          resolve(figures);
        },
      };
      round = current;
      for (const teller of asked) tell(teller, { order: 'figures', question: current.question });
    });
  }

  function drop(teller: Teller): boolean {
    return round?.waiting.delete(teller.id) === true;
  }

  return {
    collect: () => {
      collected ??= ask().finally(() => {
        collected = undefined;
      });
      return collected;
    },
    take: (teller, question, figures) => {
      if (round?.question !== question || !drop(teller)) return;
      round.figures.push(figures);
      if (round.waiting.size === 0) round.end();
    },
    forget: (teller) => {
      if (drop(teller) && round?.waiting.size === 0) round.end();
    },
  };
}
