import type { ServerResponse } from 'node:http';
import type { Pending, Reply } from '../http/reply.js';

/**
 * Waits for a reply that is not ready yet, and passes it to `respond`. A client that closes its sending half has most
 * likely left: the wait ends at once.
 */
export async function respondWhenReady(
  res: ServerResponse,
  pending: Pending,
  respond: (reply: Reply) => void,
): Promise<void> {
  const { socket } = res.req;
  const disconnected = new AbortController();
  const abort = () => disconnected.abort();
  socket.once('end', abort).once('close', abort);
  if (res.destroyed || socket.readableEnded) abort();
  try {
    respond(await pending.reply(disconnected.signal));
  } finally {
    socket.off('end', abort).off('close', abort);
  }
}
