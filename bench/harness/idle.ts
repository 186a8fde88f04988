import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { openFilesLimit } from './proc.js';

/** Connections opened at the same time: fewer than a listener lets wait. */
const AT_ONCE = 100;
/** One address has some 28,000 ports; that many connections share one. */
const PER_ADDRESS = 8000;
/** Files that a process has open besides. */
const OTHER_FILES = 200;

/** Why so many connections cannot be opened here; undefined when they can. */
export function whyNotHold(connections: number): string | undefined {
  const limit = openFilesLimit();
  if (limit === undefined) return 'there is no /proc to read the memory from';
  const needed = connections + OTHER_FILES;
  return limit < needed ? `it needs "ulimit -n ${needed}", and the limit is ${limit}` : undefined;
}

/** Opens connections, gets a response on each, and leaves them open; gives what closes them. */
export async function holdConnections(url: URL, connections: number): Promise<() => void> {
  const held: Socket[] = [];
  const message = `GET ${url.pathname} HTTP/1.1\r\nHost: ${url.host}\r\n\r\n`;
  while (held.length < connections) {
    const count = Math.min(AT_ONCE, connections - held.length);
    const more = Array.from({ length: count }, (_, index) => open(url, held.length + index, message));
    held.push(...(await Promise.all(more)));
  }
  return () => {
    for (const socket of held) socket.destroy();
  };
}

async function open(url: URL, index: number, message: string): Promise<Socket> {
  const host = Math.floor(index / PER_ADDRESS);
  // Any address of 127.0.0.0/8 is this machine, on Linux; elsewhere only the first is.
  const source = host === 0 ? {} : { localAddress: `127.0.0.${host + 1}` };
  const socket = connect({ host: url.hostname, port: Number(url.port), ...source });
  socket.write(message);
  const [response] = (await once(socket, 'data')) as [Buffer];
  if (!response.toString('latin1').startsWith('HTTP/1.1 200'))
    throw new Error('a connection got no response');
  // A response of two packets ends in one that nothing waits for.
  socket.on('error', () => undefined).resume();
  return socket;
}
