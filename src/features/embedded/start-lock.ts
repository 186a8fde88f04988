import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { EmbeddedError } from './cluster.js';

const PATIENCE_MS = 60_000;

/**
 * Runs work while no other process of this machine does on the same folder: between a server that has just
 * been started and its owner's lock, another service would take it for an orphan. On Linux the lock is the
 * name of an abstract socket, which ends with its process; elsewhere services that start in the same
 * moment may refuse to, and are started again by hand. Throws EmbeddedError.
 */
export async function whileStarting<T>(folder: string, work: () => Promise<T>): Promise<T> {
  if (process.platform !== 'linux') return work();
  const name = `\0plinth-start-${createHash('sha256').update(folder).digest('hex').slice(0, 32)}`;
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const lock = createServer().listen(name);
    try {
      await once(lock, 'listening');
      lock.on('error', () => undefined); // others only look whether it exists
    } catch (error) {
      if ((error as { code?: string }).code !== 'EADDRINUSE') throw error;
      if (Date.now() > end)
        throw new EmbeddedError(`another service has been starting on ${folder} for too long`);
      await sleep(50);
      continue;
    }
    try {
      return await work();
    } finally {
      lock.close();
    }
  }
}
