/** The result of one check. */
export interface Check {
  /** The subject of the check, in one word. */
  readonly check: string;
  readonly status: 'ok' | 'warning' | 'problem';
  readonly message: string;
  /** The remedy. */
  readonly advice: string | null;
}

/** Makes the results of one check. */
export function resultsOf(check: string) {
  return {
    ok: (message: string): Check => ({ check, status: 'ok', message, advice: null }),
    warning: (message: string, advice: string): Check => ({ check, status: 'warning', message, advice }),
    problem: (message: string, advice: string): Check => ({ check, status: 'problem', message, advice }),
  };
}

/** The message of an error in one line. */
export const messageOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replaceAll('\n', ' | ');
