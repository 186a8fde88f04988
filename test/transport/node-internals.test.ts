import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import net, { type AddressInfo } from 'node:net';
import {
  bytesInWriteQueue,
  closeEmptyBody,
  prepareResponse,
  responseInFlight,
} from '../../src/transport/node-internals.js';
import t, { type Test } from '../support/test.js';

const FIELDS = ['X-A', '! \t~', 'ETag', '"1"'];
const LENGTH = ['Content-Length', '5'];

/** The bytes that a server sends in response to `text`. */
async function responseTo(t: Test, text: string, respond: (res: ServerResponse) => void): Promise<string> {
  const server = createServer({ keepAliveTimeout: 7000 }, (_req, res) => respond(res)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close().closeAllConnections());
  const socket = net.connect((server.address() as AddressInfo).port, '127.0.0.1');
  let received = '';
  socket.on('data', (bytes) => {
    received += bytes.toString('latin1');
    // The second response shows where the first one ends.
    if (/\r\n\r\n(?:12345)?$/.test(received)) socket.destroy();
  });
  socket.write(text, 'latin1');
  await once(socket, 'close');
  return received.replace(/Date: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT/, 'Date');
}

function byNode(status: number, body: string) {
  return (res: ServerResponse) => {
    res.writeHead(status, [...FIELDS, ...(status === 200 ? LENGTH : [])] as never);
    res.end(body);
  };
}

function prepared(t: Test, status: number, body: string) {
  return (res: ServerResponse) => {
    t.ok(prepareResponse(res, status, [FIELDS, status === 200 ? LENGTH : []], body));
    t.ok(res.headersSent);
    t.equal(res.statusCode, status);
    res.end();
  };
}

const request = (method: string, version = '1.1', more = '') =>
  `${method} / HTTP/${version}\r\nHost: a\r\n${more}\r\n`;

t.test('the response is, byte for byte, what Node would write', async (t) => {
  for (const [method, status, body] of [
    ['GET', 200, '12345'],
    ['GET', 204, ''],
    ['GET', 304, ''],
    ['HEAD', 200, ''],
  ] as const) {
    const expected = await responseTo(t, request(method), byNode(status, body));
    t.match(expected, /\r\nDate\r\nConnection: keep-alive\r\nKeep-Alive: timeout=7\r\n/);
    t.equal(await responseTo(t, request(method), prepared(t, status, body)), expected, `${method} ${status}`);
  }
});

t.test('a connection serves several requests', async (t) => {
  const two = request('GET') + request('GET', '1.1', 'X-B: c\r\n');
  const received = await responseTo(t, two, (res) => {
    prepared(t, 200, res.req.headers['x-b'] ? '12345' : 'abcde')(res);
  });
  t.match(received, /\r\n\r\nabcdeHTTP\/1\.1 200 OK\r\n/);
});

t.test('Node builds the head of a last response, and of one with an unusual field', async (t) => {
  const refused = async (text: string, fields: readonly string[]) => {
    let isPrepared: boolean | undefined;
    const received = await responseTo(t, text, (res) => {
      isPrepared = prepareResponse(res, 200, [fields, LENGTH], '12345');
      byNode(200, '12345')(res);
    });
    t.equal(isPrepared, false);
    t.match(received, /^HTTP\/1\.1 200 OK\r\n/);
  };
  await refused(request('GET', '1.0'), FIELDS);
  await refused(request('GET', '1.1', 'Connection: close\r\n'), FIELDS);
  for (const name of ['Connection', 'connection']) await refused(request('GET'), [name, 'close']);
  for (const value of ['a\r\nX-B: c', 'a\n', '\0', '\u007f', 'é', 'Ā'])
    await refused(request('GET'), ['X-A', value]);
});

t.test('and of a response to a request with Expect: 100-continue', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close().closeAllConnections());
  server.on('checkContinue', (_req, res: ServerResponse) => {
    t.equal(prepareResponse(res, 200, [LENGTH], '12345'), false);
    byNode(200, '12345')(res);
  });
  const socket = net.connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.write(request('POST', '1.1', 'Expect: 100-continue\r\nContent-Length: 1\r\n'));
  const [bytes] = (await once(socket, 'data')) as [Buffer];
  t.match(String(bytes), /\r\nConnection: close\r\n/);
});

t.test('Node still has the private fields of a connection', async (t) => {
  const server = createServer({ keepAliveTimeout: 7000 }, (req, res) => {
    t.equal(responseInFlight(req.socket), res);
    res.once('close', () => t.equal(responseInFlight(req.socket), null));
    res.end('x');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close().closeAllConnections());
  server.once('connection', (socket: net.Socket) => {
    t.equal(responseInFlight(socket), undefined, 'before the first request');
    t.ok('writeQueueSize' in (socket as unknown as { _handle: object })._handle);
    t.equal(bytesInWriteQueue(socket), 0);
  });
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  t.equal(await response.text(), 'x');
});

t.test('an empty body is closed at once, and the connection serves the next request', async (t) => {
  const closed: boolean[] = [];
  const text = request('GET') + request('GET', '1.1', 'X-B: c\r\n');
  const received = await responseTo(t, text, (res) => {
    closeEmptyBody(res.req);
    closed.push(res.req.readableEnded && res.req.destroyed);
    byNode(200, res.req.headers['x-b'] ? '12345' : 'abcde')(res);
  });
  t.same(closed, [true, true]);
  t.match(received, /abcdeHTTP\/1\.1 200 OK/);
});
