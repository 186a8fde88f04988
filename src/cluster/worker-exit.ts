/** A worker ended before it answered; when by itself, it has said why on the standard error output. */
export class WorkerEnded extends Error {
  constructor(
    /** What it exited with; null: a signal ended it. */
    readonly code: number | null,
    signal: string | null,
  ) {
    super(`a worker was ended by ${signal} while it started`);
  }
}
