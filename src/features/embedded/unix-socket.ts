import { closeSync, constants, openSync } from 'node:fs';
import { connect } from 'node:net';
import { basename, dirname } from 'node:path';

/** The bytes of an address of a Unix socket on each system, without the last one. */
const MAX_BYTES = 103;

/** A path of a socket that fits into an address, until it is closed: on Linux any, by its open folder. */
export function shortened(path: string): { readonly path: string; close(): void } {
  if (process.platform !== 'linux' || Buffer.byteLength(path) <= MAX_BYTES)
    return { path, close: () => undefined };
  let fd: number | undefined = openSync(dirname(path), constants.O_RDONLY | constants.O_DIRECTORY);
  const close = () => {
    if (fd !== undefined) closeSync(fd);
    fd = undefined;
  };
  return { path: `/proc/self/fd/${fd}/${basename(path)}`, close };
}

/** Whether a process of this kernel listens on a socket; also one that is suspended and whose queue is full. */
export function connects(path: string): Promise<'accepted' | 'refused' | 'unknown'> {
  const short = shortened(path);
  return new Promise((resolve) => {
    const socket = connect(short.path)
      .on('error', ({ code }: NodeJS.ErrnoException) => {
        const isRefused = code === 'ECONNREFUSED' || code === 'ENOENT';
        resolve(code === 'EAGAIN' ? 'accepted' : isRefused ? 'refused' : 'unknown');
      })
      .once('connect', () => {
        resolve('accepted');
        socket.destroy();
      })
      .once('close', short.close);
  });
}
