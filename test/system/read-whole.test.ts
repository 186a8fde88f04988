import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readWhole } from '../../bench/harness/read-whole.js';
import t from '../support/test.js';

t.test('a whole list is read to its end, and half of one is an error', async (t) => {
  const long = 'x'.repeat(1_000_000);
  const handlers: Record<string, RequestListener> = {
    '/long': (_, res) => res.end(long),
    '/chunked': (_, res) => void res.writeHead(203).write(long, () => res.end('x')),
    '/half-long': (_, res) =>
      void res.writeHead(200, { 'content-length': 9 }).write('x', () => res.destroy()),
    '/half-chunked': (_, res) => void res.write(long, () => res.destroy()),
    '/headless': (_, res) => void res.socket?.end(long),
    '/query?a=b': (_, res) => res.end('x'),
    '/reset': (_, res) => void res.socket?.resetAndDestroy(),
  };
  const server = createServer((req, res) => handlers[req.url!]!(req, res)).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const whole = await readWhole(`${base}/long`);
  t.match(whole, { status: 200, bytes: 1_000_000 });
  t.ok(0 < whole.firstByteMs && whole.firstByteMs <= whole.ms);
  const chunked = await readWhole(`${base}/chunked`);
  t.equal(chunked.status, 203);
  t.equal(chunked.bytes, 'f4240\r\n\r\n1\r\nx\r\n0\r\n\r\n'.length + 1_000_000);
  for (const path of ['/half-long', '/half-chunked']) await t.rejects(readWhole(base + path), /is not whole/);
  await t.rejects(readWhole(`${base}/headless`), /no end of its head/);
  t.equal((await readWhole(`${base}/query?a=b`)).bytes, 1);
  await t.rejects(readWhole(`${base}/reset`));
});
