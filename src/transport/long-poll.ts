import type { ServerResponse } from 'node:http';
import type { Reply } from '../http/reply.js';

/**
 * Waits for an answer that is given later, and hands it to `answer`. A client that closes its sending half has most
 * likely left: it is answered at once, with what there is.
 */
export async function respondWhenReady(
  res: ServerResponse,
  later: NonNullable<Reply['pending']>,
  answer: (reply: Reply) => void,
): Promise<void> {
  const { socket } = res.req;
  const gone = new AbortController();
  const leave = () => gone.abort();
  socket.once('end', leave).once('close', leave);
  if (res.destroyed || socket.readableEnded) leave();
  try {
    answer(await later(gone.signal));
  } finally {
    socket.off('end', leave).off('close', leave);
  }
}
