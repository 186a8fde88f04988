import { writeSync } from 'node:fs';
import type { Writable } from 'node:stream';
import type { Lines } from './log.js';

/** Bytes that may wait for whoever reads the log; lines beyond are dropped, and the next that goes out says how many. */
const MAX_WAITING = 4_194_304;

type Output = Writable & { readonly fd?: number };

/**
 * Lines to the standard output. A reader that is slow, stuck or gone neither holds up nor ends the service: a request
 * is worth more than its line. The lines of one turn of the event loop are one write. At the exit what waits is
 * written as far as that goes without waiting.
 */
export function logLines(output: Output = process.stdout, max = MAX_WAITING): Lines {
  let pending: string[] = [];
  let bytes = 0;
  let dropped = 0;
  let closed = false;

  const flush = (): void => {
    if (pending.length === 0) return;
    const text = pending.join('');
    pending = [];
    bytes = 0;
    try {
      output.write(text);
    } catch {
      // A file that is full: there is no place left to tell of it.
    }
  };

  // Without a listener a reader that has gone would end the process. Other errors, a disk that is full, may pass.
  output.on('error', (error: NodeJS.ErrnoException) => {
    closed ||= error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED';
  });
  process.on('exit', () => writeRest(output, pending.join('')));

  return {
    write: (line) => {
      if (closed) return;
      if (bytes + line.length + output.writableLength > max) {
        dropped++;
        return;
      }
      if (pending.length === 0) setImmediate(flush);
      if (dropped > 0) pending.push(told(dropped));
      dropped = 0;
      pending.push(line);
      bytes += line.length;
    },
  };
}

function told(dropped: number): string {
  const time = Date.now();
  return `{"level":40,"time":${time},"dropped":${dropped},"msg":"lines were dropped: nobody read them"}\n`;
}

/** What a stream already has is ahead of it: then it is lost, as the rest of that is. */
function writeRest({ fd, writableLength }: Output, text: string): void {
  if (fd === undefined || writableLength > 0 || text === '') return;
  try {
    writeSync(fd, text);
  } catch {
    // The pipe is full or closed, and the process ends.
  }
}
