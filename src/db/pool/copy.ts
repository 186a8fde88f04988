import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { Lease } from './pool-member.js';
import { receiveRows, resumeSocket } from './postgres-patches.js';
import { prepared } from './prepared.js';

export interface CopyRequest {
  readonly text: string;
  /** Settings of the session while it runs. */
  readonly settings: Readonly<Record<string, string>>;
  readonly consume: (rows: Readable) => Promise<void>;
  /** After this time without a row, the statement is cancelled. Undefined: it may take any time. Milliseconds. */
  readonly firstRowMs?: number | undefined;
  /** Cancels the statement of the server process. */
  readonly cancel: (pid: string) => Promise<void>;
}

/** Passes the rows of a COPY to `consume`. When that throws, cancels the statement and frees the connection. */
export async function copy(
  lease: Lease,
  { text, settings, consume, firstRowMs, cancel }: CopyRequest,
): Promise<void> {
  for (const [name, value] of Object.entries(settings)) {
    await prepared(lease.connection.use(), 'select set_config($1, $2, false)', [name, value]);
  }
  const rows = await readable(lease, text, firstRowMs, cancel);
  // While received rows are not consumed, the server is not silent.
  lease.isWaiting = () => !rows.readableEnded && !rows.destroyed && rows.readableLength === 0;
  try {
    await consume(rows);
  } catch (error) {
    // The server may be blocked in a write, where it does not see the cancel request: the rows are read until it does. If
    // the cancel fails, they end by themselves. (The driver's own `cancel` has no effect on a stream.)
    const cancelled = cancel(lease.connection.pid).catch(() => undefined);
    await finished(rows.resume()).catch(() => undefined);
    // A late cancel would hit the next statement of this connection.
    await cancelled;
    throw error;
  } finally {
    if (!lease.connection.lost) resumeSocket(rows);
    lease.isWaiting = () => true;
  }
}

/** The rows, when the server has sent the first ones. Rejects with the error of a cancelled statement when none come in time. */
async function readable(
  lease: Lease,
  text: string,
  firstRowMs: CopyRequest['firstRowMs'],
  cancel: CopyRequest['cancel'],
): Promise<Readable> {
  let cancelled: Promise<void> | undefined;
  const stop = (): void => {
    cancelled = cancel(lease.connection.pid).catch(() => undefined);
  };
  const timer = firstRowMs === undefined ? undefined : setTimeout(stop, firstRowMs);
  try {
    return await receiveRows(lease.connection.use(), text);
  } finally {
    clearTimeout(timer);
    await cancelled;
  }
}
