import { invalidCursor } from '../errors.js';

const LENGTH = 11;

/** An event's place in the feed as clients see it: text that sorts as the feed does, otherwise opaque. */
export function cursorOf(seq: number): string {
  return seq.toString(36).padStart(LENGTH, '0');
}

/** The place behind a cursor. Throws 400 for any other text. */
export function parseCursor(text: string): number {
  const seq = /^[0-9a-z]{11}$/.test(text) ? Number.parseInt(text, 36) : Number.NaN;
  if (!Number.isSafeInteger(seq)) throw invalidCursor();
  return seq;
}
