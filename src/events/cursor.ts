import { invalidCursor } from '../errors/errors.js';

const LENGTH = 11;

/** The position of an event as clients see it: opaque text that sorts in the order of the feed. */
export function cursorOf(seq: number): string {
  return seq.toString(36).padStart(LENGTH, '0');
}

/** The position of a cursor. Throws 400 for any other text. */
export function parseCursor(text: string): number {
  const seq = /^[0-9a-z]{11}$/.test(text) ? Number.parseInt(text, 36) : Number.NaN;
  if (!Number.isSafeInteger(seq)) throw invalidCursor();
  return seq;
}
