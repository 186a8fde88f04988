import { constants } from 'node:os';
import type { Log } from '../telemetry/log.js';

/** The service that a signal stops. */
export interface Stoppable {
  /** Finishes what is in flight, then stops. */
  stop(): Promise<void>;
  /** Kills what would outlive this process. */
  abandon?(): void;
}

export const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/**
 * From now on SIGTERM and SIGINT stop the service and exit with 0; a second one exits at once with the code that a shell
 * gives a process ended by that signal. During the start, the handlers of `exit` end what was started. Unless it is quiet,
 * a text on the standard output says that the service stops.
 */
export function stopOnSignals(running: () => Stoppable | undefined, log: Log, isQuiet: boolean): void {
  let stopping = false;
  const onSignal = (signal: (typeof STOP_SIGNALS)[number]): void => {
    const found = running();
    if (!found) process.exit(0);
    if (stopping) {
      found.abandon?.();
      process.exit(128 + constants.signals[signal]);
    }
    stopping = true;
    if (signal === 'SIGINT' && !isQuiet)
      process.stdout.write('\nPlinth stops. Requests in flight may finish. Goodbye.\n');
    void stopAndExit(found, log);
  };
  for (const signal of STOP_SIGNALS) process.on(signal, onSignal);
}

/** Stops and exits: with 0, or with 1 after an error. */
export async function stopAndExit(running: Stoppable, log: Log): Promise<never> {
  try {
    await running.stop();
  } catch (error) {
    log.error({ err: error }, 'the service did not stop in order');
    process.exit(1);
  }
  process.exit(0);
}

/** Reads the certificates again; the current ones stay when the new ones are invalid. */
export function reload(service: { reload(): void } | undefined, log: Log): void {
  try {
    service?.reload();
  } catch (error) {
    log.error({ err: error }, 'the certificates cannot be read again; the current ones stay in use');
  }
}
