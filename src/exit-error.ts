/** Ends the process with its message on the standard error output, without a stack. An empty message prints nothing. */
export class ExitError extends Error {
  readonly exitCode: number = 1;
}
