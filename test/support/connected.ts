import { once } from 'node:events';
import net from 'node:net';
import type { Test } from './test.js';
import { until } from './until.js';

interface ConnectionOptions {
  readonly localAddress?: string;
  /** Characters of the text that is retained, about; default: all. */
  readonly maxText?: number;
}

/** Resolves when each of some connections has so many responses. */
export const untilResponses = (
  clients: readonly { readonly responses: () => number }[],
  expected: number,
): Promise<number[]> =>
  until(
    'each has a response',
    () => clients.map(({ responses }) => responses()),
    (seen) => seen.every((count) => count === expected),
  );

/** Opens a connection to a service. Resolves to the bytes and the text that come on it, and whether it has ended. */
export async function connected(
  t: Test,
  { url }: { readonly url: string },
  { localAddress = '127.0.0.1', maxText = Number.POSITIVE_INFINITY }: ConnectionOptions = {},
) {
  const { hostname, port } = new URL(url);
  const socket = net.connect({ host: hostname, port: Number(port), localAddress });
  t.teardown(() => socket.destroy());
  const state = {
    socket,
    text: '',
    bytes: 0,
    ended: false,
    responses: () => state.text.split('HTTP/1.1 ').length - 1,
    /** Resolves when the first response has a status. */
    responded: (says: string, status: number) =>
      until(
        says,
        () => state.text,
        (seen) => seen.startsWith(`HTTP/1.1 ${status} `),
      ),
  };
  socket.on('data', (bytes) => {
    state.bytes += bytes.length;
    if (state.text.length < maxText) state.text += bytes.toString('latin1');
  });
  socket
    .on('error', () => undefined)
    .on('close', () => {
      state.ended = true;
    });
  await once(socket, 'connect');
  return state;
}
