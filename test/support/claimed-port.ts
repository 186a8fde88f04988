import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import type { Test } from './test.js';

/** Below the ports that systems give out by themselves: those of PORT=0 and of outgoing connections. */
const FIRST = 20_000;
const COUNT = 6000;

/** The last ports that this process has claimed: its clients may have open connections to a server that has just left one. */
const former = new Set<number>();
const MAX_FORMER = 3000;

/**
 * A port of 127.0.0.1 on which nothing listens, for a program that must know its port before it starts, for a server that
 * comes back on its port, and for an address that refuses connections. No other process is given it until `t` ends, without
 * `t` until this process does: this process listens on the port that is `COUNT` higher, and so do all others that claim
 * one. This process is not given it again for a long time. The system releases the claim of a process that is killed.
 * Prefer PORT=0 and the URL that a program prints.
 */
export async function claimPort(t?: Pick<Test, 'teardown'>): Promise<number> {
  const start = Math.floor(Math.random() * COUNT);
  for (let at = 0; at < COUNT; at++) {
    const port = FIRST + ((start + at) % COUNT);
    if (former.has(port)) continue;
    const claim = await listening(port + COUNT);
    if (!claim) continue;
    const probe = await listening(port);
    if (probe) {
      await closed(probe);
      claim.unref();
      former.add(port);
      if (former.size > MAX_FORMER) former.delete(former.values().next().value!);
      t?.teardown(() => closed(claim));
      return port;
    }
    await closed(claim);
  }
  throw new Error(`no port from ${FIRST} to ${FIRST + COUNT - 1} is free`);
}

/** Undefined: the port is in use. */
async function listening(port: number): Promise<Server | undefined> {
  const server = createServer((socket) => socket.destroy()).listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
    return server;
  } catch (error) {
    if ((error as { code?: unknown }).code === 'EADDRINUSE') return undefined;
    throw error;
  }
}

async function closed(server: Server): Promise<void> {
  server.close();
  await once(server, 'close');
}
