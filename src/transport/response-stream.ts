import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { Coding } from '../http/content-coding.js';
import type { Reply } from '../http/reply.js';
import { compressor } from './codecs.js';
import { hasStalled } from './stale-connections.js';

/** The client disconnected or stopped reading in the middle of a response. */
export class ReaderGone extends Error {
  constructor(readonly how: 'left' | 'stalled') {
    super(`the reader ${how}`);
  }
}

/** Bytes of the body that were written so far. */
export interface Written {
  sent: number;
}

/**
 * Sends a response whose body is not in memory, compressed if there is a coding. The next chunk is read when the client has read
 * enough of those before it, and the head is made with the first one: a failure until then has a response of its own. Rejects
 * with ReaderGone if the client disconnects, or if closeStaleConnections disconnects it.
 */
export async function sendStream(
  res: ServerResponse,
  headOf: () => Pick<Reply, 'status' | 'headers'>,
  chunks: AsyncIterable<Buffer | string>,
  written: Written,
  coding?: Coding,
): Promise<void> {
  // A response that has ended has no socket any more.
  const { socket } = res;
  const bytes = bytesOf(chunks);
  try {
    const first = await bytes.next();
    if (!res.destroyed) {
      const { status, headers } = headOf();
      res.writeHead(status, headers as never);
    }
    const body = async function* () {
      if (!first.done) yield first.value;
      yield* bytes;
    };
    const counted = async function* (source: AsyncIterable<Buffer>) {
      for await (const chunk of source) {
        written.sent += chunk.length;
        yield chunk;
      }
    };
    await (coding ? pipeline(body, compressor[coding](), counted, res) : pipeline(body, counted, res));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const isGone = res.destroyed && GONE.has(code ?? '');
    throw isGone ? new ReaderGone(socket && hasStalled(socket) ? 'stalled' : 'left') : error;
  } finally {
    // The chunks are not read any more when this function ends.
    await bytes.return(undefined);
  }
}

/** The codes of errors of a response whose connection is closed. */
const GONE = new Set([
  'ERR_STREAM_PREMATURE_CLOSE',
  'ERR_STREAM_DESTROYED',
  'ABORT_ERR',
  'ECONNRESET',
  'EPIPE',
]);

async function* bytesOf(chunks: AsyncIterable<Buffer | string>): AsyncGenerator<Buffer, void> {
  for await (const chunk of chunks) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
}
