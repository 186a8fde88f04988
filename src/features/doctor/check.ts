/** The result of one check. */
export interface Check {
  /** The subject of the check, in one word. */
  readonly check: string;
  readonly status: 'ok' | 'warning' | 'problem';
  readonly message: string;
  /** The remedy. */
  readonly advice: string | null;
}

/** A fault that a check looks for: whether it is there, and how bad, the message and the remedy. */
export type Fault = readonly [
  isThere: unknown,
  status: 'warning' | 'problem',
  message: string,
  advice: string,
];

/** Makes the results of one check. */
export function resultsOf(check: string) {
  const ok = (message: string): Check => ({ check, status: 'ok', message, advice: null });
  const fault = (status: 'warning' | 'problem') => (message: string, advice: string) =>
    ({ check, status, message, advice }) satisfies Check;
  /** The faults that are there; if there are none, the message that all is well. */
  const of = (message: string, faults: readonly Fault[]): Check[] => {
    const found = faults.filter(([isThere]) => isThere);
    return found.length === 0 ? [ok(message)] : found.map(([, status, ...texts]) => fault(status)(...texts));
  };
  return { ok, warning: fault('warning'), problem: fault('problem'), of };
}

/** The message of an error in one line. */
export const messageOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replaceAll('\n', ' | ');
