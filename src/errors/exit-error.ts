/** How a process ends, by exit code: those of sysexits.h from 64 on. The name is the code of the error with --json. */
export const EXITS = {
  0: { name: 'DONE', meaning: 'done' },
  1: { name: 'FAILED', meaning: 'it was not possible, or only in part' },
  64: { name: 'USAGE', meaning: 'wrong arguments, or an input file that cannot be used' },
  69: { name: 'UNAVAILABLE', meaning: 'the database or the service cannot be used' },
  70: { name: 'INTERNAL', meaning: 'an internal error' },
  73: { name: 'OUTPUT', meaning: 'a file cannot be written' },
  78: { name: 'CONFIGURATION', meaning: 'invalid settings or declarations' },
} as const;

export type ExitCode = keyof typeof EXITS;

/** Ends the process with its message on the standard error output, without a stack. An empty message prints nothing. */
export class ExitError extends Error {
  readonly exitCode: number = 1;

  /** A word for scripts. */
  get code(): string {
    return EXITS[this.exitCode as ExitCode]?.name ?? EXITS[1].name;
  }
}

/** Settings, declarations or the database are refused as they are. */
export class RefusedError extends ExitError {
  override readonly exitCode = 78;
}

/** The database or another service cannot be used. */
export class UnavailableError extends ExitError {
  override readonly exitCode: number = 69;
}
