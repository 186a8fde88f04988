import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Test } from './test.js';

const FOLDER = fileURLToPath(new URL('../../../docs/clients/', import.meta.url));
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.json': 'application/json',
};

/** Serves docs/clients from an origin of its own, which it returns. `replaced` has the contents of other files by path. */
export async function exampleClients(
  t: Test,
  replaced: ReadonlyMap<string, string> = new Map(),
): Promise<string> {
  const files = new Map(
    readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
      .filter((name) => TYPES[extname(name)] !== undefined)
      .map((name) => [`/${name}`, name]),
  );
  const server = createServer((req, res) => {
    const { pathname } = new URL(req.url!, 'http://localhost');
    const path = pathname.endsWith('/') ? `${pathname}index.html` : pathname;
    const name = files.get(path);
    if (name === undefined) return void res.writeHead(404).end();
    res.setHeader('Content-Type', TYPES[extname(name)]!);
    res.end(replaced.get(path) ?? readFileSync(FOLDER + name));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
