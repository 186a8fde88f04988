import { hash } from 'node:crypto';

/** Subjects of plain characters up to this length are stored as they are. */
const PLAIN = /^[\x20-\x7e]{1,64}$/;

/**
 * The name under which something is stored for a subject: at most 71 characters, all of them storable. Longer than any
 * plain subject, so none can be mistaken for the hash of another.
 */
export function callerKey(subject: string): string {
  return PLAIN.test(subject) ? subject : `sha256:${hash('sha256', JSON.stringify(subject), 'hex')}`;
}
