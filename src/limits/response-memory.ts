let held = 0;

/**
 * Bytes of responses that this process holds: of batches in progress, of bodies on their way to their clients, and of
 * event streams whose readers are behind. Whole lists are streamed and are not among them.
 */
export const heldResponseBytes = (): number => held;

/** Bytes of one response, counted among those that the process holds until they are released. */
export class ResponseHold {
  #bytes = 0;

  /** Holds so many bytes in all. */
  set(bytes: number): void {
    held += bytes - this.#bytes;
    this.#bytes = bytes;
  }

  release(): void {
    this.set(0);
  }
}

/** Whether a process that may hold `limit` bytes can hold so many more; a response that is alone always fits. */
export function fitsResponseMemory(bytes: number, limit: number): boolean {
  return held === 0 || held + bytes <= limit;
}
