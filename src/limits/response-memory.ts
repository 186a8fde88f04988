let held = 0;

/**
 * Bytes of responses in memory: batches in progress, bodies that clients have not read, and event streams whose readers
 * are behind. Streamed lists are not included.
 */
export const heldResponseBytes = (): number => held;

/** The bytes of one response, which are included until they are released. */
export class ResponseHold {
  #bytes = 0;

  /** Replaces the number of bytes. */
  set(bytes: number): void {
    held += bytes - this.#bytes;
    this.#bytes = bytes;
  }

  release(): void {
    this.set(0);
  }
}

/** Whether so many more bytes are within `limit`. A single response always fits. */
export function fitsResponseMemory(bytes: number, limit: number): boolean {
  return held === 0 || held + bytes <= limit;
}
