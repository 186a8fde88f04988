/** How long the requests in flight may take to be answered when there are too many, in milliseconds. */
const SHORT_MS = 10;
/** So many are never too many, and so many do not keep back who has waited. */
const MIN = 64;
const FEW = 4;
/** How long nobody has to be refused until all is as before: what Retry-After says. */
const CALM_MS = 1000;
/** The rate is the best of so many stretches of time: one in which the database or the collector paused tells nothing. */
const STRETCHES = 10;
const STRETCH_MS = 100;

/** How many requests may be in flight. */
export interface ConcurrencyLimit {
  /** Whether there is room for one more beside so many; one that is `late` has waited where new ones do not. */
  hasRoom(inFlight: number, late: boolean): boolean;
  /** One was answered. */
  answered(): void;
  /** A queue further on had no room for one. */
  refused(): void;
}

/**
 * Room for `most`: what comes at once, and that many clients who wait for their answers, are let in. When that is not
 * enough more comes than can be done, and there is room for what is answered in 10 ms and no more, since latency is what
 * is in flight by what is done in a second (Little's law), be it fast or slow: until nobody is refused any more. And while
 * anybody is, what has waited already is answered only when there is room to spare. `now` gives milliseconds.
 */
export function createConcurrencyLimit(
  max: number,
  now: () => number = () => performance.now(),
): ConcurrencyLimit {
  const rates: number[] = [];
  let count = 0;
  let since = now();
  /** The most that were in flight in this stretch, and in the one before. */
  let [peak, peakBefore] = [0, 0];
  let [shortUntil, refusingUntil] = [0, 0];

  function measure(at: number, inFlight: number): void {
    peak = Math.max(peak, inFlight);
    if (at - since < STRETCH_MS) return;
    rates.push(count / (at - since));
    if (rates.length > STRETCHES) rates.shift();
    [count, since] = [0, at];
    [peak, peakBefore] = [inFlight, peak];
  }

  /** What is answered in a short time. */
  const shortly = () => Math.max(0, ...rates) * SHORT_MS;
  /** Half of what can be done is enough, and not only for an instant. */
  const hasSpare = () => Math.max(peak, peakBefore) < Math.max(FEW, shortly() / 2);

  function refuse(at: number, isFull: boolean): void {
    refusingUntil = at + CALM_MS;
    if (isFull || at < shortUntil) shortUntil = refusingUntil;
  }

  return {
    hasRoom: (inFlight, late) => {
      const at = now();
      measure(at, inFlight);
      const room = at < shortUntil ? Math.min(max, Math.max(MIN, shortly())) : max;
      const isFull = inFlight >= room;
      if (!isFull && (!late || at >= refusingUntil || hasSpare())) return true;
      refuse(at, isFull);
      return false;
    },
    answered: () => {
      count++;
    },
    refused: () => refuse(now(), false),
  };
}
