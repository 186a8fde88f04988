import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { TestFile } from './files.js';

/*
 * The runner hands out files and databases to its workers, and to the processes that these start, by HTTP on a loopback
 * port.
 */

/** The setting with the URL of the runner. */
export const CONTROL = 'PLINTH_TEST_CONTROL';

/** The end of a file. */
export interface Finished {
  readonly name: string;
  /** The worker that ran it, and its PostgreSQL. */
  readonly server: number;
  readonly ms: number;
  /** CPU time of the worker, and of the processes that have ended. */
  readonly cpuMs: number;
  /** The failed assertions; empty: the file has passed. */
  readonly failures: readonly string[];
  readonly needs: string | undefined;
}

export interface Control {
  readonly url: string;
  close(): void;
}

export interface Handlers {
  readonly next: () => Promise<TestFile | undefined>;
  readonly finished: (file: Finished) => void;
  readonly database: (server: number, template: string) => Promise<string>;
}

export async function openControl({ next, finished, database }: Handlers): Promise<Control> {
  const respond = async (method: string, url: URL, body: string): Promise<unknown> => {
    if (url.pathname === '/next') return await next();
    if (method === 'POST' && url.pathname === '/finished') return finished(JSON.parse(body) as Finished);
    if (url.pathname === '/database')
      return await database(Number(url.searchParams.get('server')), url.searchParams.get('template') ?? '');
    throw new Error(`the runner does not know ${url.pathname}`);
  };
  const server = http.createServer(async (req, res) => {
    try {
      const found = await respond(req.method!, new URL(req.url!, 'http://runner'), await text(req));
      res.end(JSON.stringify(found ?? null));
    } catch (error) {
      res.writeHead(500).end(String(error));
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => void server.close() };
}

/** Requests something of the runner. Throws if this process was not started by it. */
export async function ofRunner<T>(path: string, body?: object): Promise<T> {
  const url = process.env[CONTROL];
  if (url === undefined) throw new Error('run the tests with: npm test');
  const request = http.request(`${url}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    agent: false,
  });
  request.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  const received = await text(response);
  if (response.statusCode !== 200) throw new Error(received);
  return JSON.parse(received) as T;
}
