import { hash } from 'node:crypto';

/** Subjects of plain characters up to this length are stored unchanged. */
const PLAIN = /^[\x20-\x7e]{1,64}$/;

/**
 * The name of a subject in the database: at most 71 storable characters. A hash is longer than any unchanged subject, so
 * they cannot be confused.
 */
export function callerKey(subject: string): string {
  return PLAIN.test(subject) ? subject : `sha256:${hash('sha256', JSON.stringify(subject), 'hex')}`;
}
