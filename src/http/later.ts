import type { ServerResponse } from 'node:http';
import type { Reply } from './reply.js';

/** Waits for an answer that is given later, and hands it to `answer`, unless the client has gone away meanwhile. */
export async function answerLater(
  res: ServerResponse,
  later: NonNullable<Reply['later']>,
  answer: (reply: Reply) => Promise<void> | void,
): Promise<void> {
  const gone = new AbortController();
  const leave = () => gone.abort();
  res.once('close', leave);
  if (res.destroyed) leave();
  const reply = await later(gone.signal);
  res.off('close', leave);
  if (!gone.signal.aborted) await answer(reply);
}
