/** The driver (postgres 3.4.9) delays a message that is shorter than this until the next tick of the event loop. */
const MIN_BYTES = 1024;

/**
 * Pads a parameter with spaces so that the driver sends its statement at once. The parameter's type must ignore trailing
 * spaces (an array, JSON). A batched statement has already waited for others, and need not wait again.
 */
export function padForImmediateWrite(parameter: string): string {
  return parameter.padEnd(MIN_BYTES);
}
