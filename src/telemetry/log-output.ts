import { writeSync } from 'node:fs';
import type { Writable } from 'node:stream';
import type { Lines } from './log.js';

/** Bytes that may wait for the reader of the log. Further lines are dropped, and the next line reports how many. */
const MAX_WAITING = 4_194_304;

type Output = Writable & { readonly fd?: number };

/**
 * Writes lines to the standard output. A reader that is slow, stuck or gone neither blocks nor ends the service. The lines
 * of one tick are one write. At the exit, pending lines are written as far as that is possible without blocking.
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
      // The disk is full, and there is nowhere to report that.
    }
  };

  // Without a listener a closed pipe would end the process. Other errors (a full disk) may be temporary.
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
      if (dropped > 0) pending.push(droppedLine(dropped));
      dropped = 0;
      pending.push(line);
      bytes += line.length;
    },
  };
}

function droppedLine(dropped: number): string {
  const time = Date.now();
  return `{"level":40,"time":${time},"dropped":${dropped},"msg":"lines were dropped: the reader of the log is too slow"}\n`;
}

/** Writes nothing while the stream has data of its own, which would have to go first. */
function writeRest({ fd, writableLength }: Output, text: string): void {
  if (fd === undefined || writableLength > 0 || text === '') return;
  try {
    writeSync(fd, text);
  } catch {
    // The pipe is full or closed, and the process ends.
  }
}
