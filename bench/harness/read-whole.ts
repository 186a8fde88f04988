import { connect } from 'node:net';

export interface Whole {
  readonly status: number;
  /** Bytes of the body as they are sent. */
  readonly bytes: number;
  readonly firstByteMs: number;
  readonly ms: number;
}

const PIECE_BYTES = 262_144;
const HEAD_END = '\r\n\r\n';
const LAST_CHUNK = '0\r\n\r\n';

/**
 * Reads a response to its end and drops it, into one buffer and without taking it apart: the reader shares the processors
 * with what it measures. Throws for a response that is not whole.
 */
export function readWhole(url: string): Promise<Whole> {
  const { host, hostname, port, pathname, search } = new URL(url);
  const start = performance.now();
  return new Promise((resolve, reject) => {
    const buffer = Buffer.allocUnsafe(PIECE_BYTES);
    let [head, end] = ['', ''];
    let [bytes, firstByteMs] = [0, 0];
    const takeHead = (size: number): number => {
      head += buffer.toString('latin1', 0, size);
      const at = head.indexOf(HEAD_END);
      if (at < 0) {
        if (head.length > PIECE_BYTES)
          socket.destroy(new Error(`the response to GET ${pathname} has no end of its head`));
        return 0;
      }
      const body = head.length - at - HEAD_END.length;
      head = head.slice(0, at + HEAD_END.length);
      return body;
    };
    const callback = (size: number): boolean => {
      firstByteMs ||= performance.now() - start;
      bytes += head.endsWith(HEAD_END) ? size : takeHead(size);
      end = (end + buffer.toString('latin1', Math.max(0, size - LAST_CHUNK.length), size)).slice(
        -LAST_CHUNK.length,
      );
      return true;
    };
    const socket = connect({ host: hostname, port: Number(port), onread: { buffer, callback } });
    socket.write(`GET ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    socket.on('error', reject);
    socket.on('close', () => {
      const length = /^content-length: *(\d+)/im.exec(head)?.[1];
      if (length === undefined ? end !== LAST_CHUNK : bytes !== Number(length))
        return reject(new Error(`the response to GET ${pathname} is not whole`));
      resolve({ status: Number(head.split(' ')[1]), bytes, firstByteMs, ms: performance.now() - start });
    });
  });
}
