import { invalidCursor } from '../errors/errors.js';

const LENGTH = 11;

/** The number of an event as text that sorts in the order of the feed. */
export function positionText(seq: number): string {
  return seq.toString(36).padStart(LENGTH, '0');
}

/** The number that a text of `positionText` has. Throws 400 for any other text. */
export function parsePosition(text: string): number {
  const seq = /^[0-9a-z]{11}$/.test(text) ? Number.parseInt(text, 36) : Number.NaN;
  if (!Number.isSafeInteger(seq)) throw invalidCursor();
  return seq;
}
