import { once } from 'node:events';
import net from 'node:net';
import type { Test } from './test.js';

interface ConnectionOptions {
  readonly localAddress?: string;
  /** Characters of the text that is retained, about; default: all. */
  readonly maxText?: number;
}

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
