import type { ServerResponse } from 'node:http';

/** The bytes of one sort that this process has in memory, from which each holder draws its own. */
export class ByteBudget {
  held = 0;

  /** Whether so many more bytes are within `max`. A single holder always fits. */
  fits(bytes: number, max: number): boolean {
    return this.held === 0 || this.held + bytes <= max;
  }

  /** Adds bytes, or returns them with a negative number. */
  add(bytes: number): void {
    this.held += bytes;
  }

  /** Adds bytes, which are returned when the response is closed. */
  addUntilClose(res: ServerResponse, bytes: number): void {
    this.add(bytes);
    res.once('close', () => this.add(-bytes));
  }
}

/** Bodies whose requests are not done. No body has more than BODY_BYTES. */
export const BODIES = new ByteBudget();

/**
 * Responses: batches in progress, bodies that clients have not read, and event streams whose readers are behind. Streamed
 * lists are not included.
 */
export const RESPONSES = new ByteBudget();
