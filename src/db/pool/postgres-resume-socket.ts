import type { Readable } from 'node:stream';

/**
 * Resumes the socket behind the rows of a COPY that have ended. The driver (postgres 3.4.9) pauses its socket when the
 * stream is full, and only a read resumes it. An ended stream reads no more, so the end of the statement would never
 * arrive.
 */
export function resumeSocket(rows: Readable): void {
  rows._read(0);
}
