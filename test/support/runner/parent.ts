import { constants } from 'node:os';

const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const;
type EndSignal = (typeof SIGNALS)[number];

/** How often a process looks whether its parent is still there; milliseconds. */
const LOOK_MS = 500;

/** Ends this process. The handlers of `exit` end what it has started. */
export const exitBy = (signal: EndSignal): never => process.exit(128 + constants.signals[signal]);

/** Calls `end` for a signal that ends this process, and when its parent has ended: the shell of npm passes no signal on. */
export function endWithParent(end: (signal: EndSignal) => void = exitBy): void {
  const parent = process.ppid;
  for (const signal of SIGNALS) process.on(signal, () => end(signal));
  // biome-ignore lint/style/noRestrictedGlobals: no test waits for it
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    end('SIGTERM');
  }, LOOK_MS).unref();
}
