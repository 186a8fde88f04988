import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import net, { type AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { prepareResponse } from '../../src/transport/response-head.js';

const FIELDS = ['X-A', '! \t~', 'ETag', '"1"'];
const LENGTH = ['Content-Length', '5'];

/** What a server answers to some bytes. */
async function answerTo(t: Test, text: string, answer: (res: ServerResponse) => void): Promise<string> {
  const server = createServer({ keepAliveTimeout: 7000 }, (_req, res) => answer(res)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close().closeAllConnections());
  const socket = net.connect((server.address() as AddressInfo).port, '127.0.0.1');
  let received = '';
  socket.on('data', (bytes) => {
    received += bytes.toString('latin1');
    // The second answer shows where the first one ends.
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

t.test('the answer is, byte for byte, what Node would write', async (t) => {
  for (const [method, status, body] of [
    ['GET', 200, '12345'],
    ['GET', 204, ''],
    ['GET', 304, ''],
    ['HEAD', 200, ''],
  ] as const) {
    const expected = await answerTo(t, request(method), byNode(status, body));
    t.match(expected, /\r\nDate\r\nConnection: keep-alive\r\nKeep-Alive: timeout=7\r\n/);
    t.equal(await answerTo(t, request(method), prepared(t, status, body)), expected, `${method} ${status}`);
  }
});

t.test('a connection answers one request after the other', async (t) => {
  const two = request('GET') + request('GET', '1.1', 'X-B: c\r\n');
  const received = await answerTo(t, two, (res) => {
    prepared(t, 200, res.req.headers['x-b'] ? '12345' : 'abcde')(res);
  });
  t.match(received, /\r\n\r\nabcdeHTTP\/1\.1 200 OK\r\n/);
});

t.test('Node puts the head together of what may be the last answer, or is not fit to be sent', async (t) => {
  const refused = async (text: string, fields: readonly string[]) => {
    let taken: boolean | undefined;
    const received = await answerTo(t, text, (res) => {
      taken = prepareResponse(res, 200, [fields, LENGTH], '12345');
      byNode(200, '12345')(res);
    });
    t.equal(taken, false);
    t.match(received, /^HTTP\/1\.1 200 OK\r\n/);
  };
  await refused(request('GET', '1.0'), FIELDS);
  await refused(request('GET', '1.1', 'Connection: close\r\n'), FIELDS);
  for (const name of ['Connection', 'connection']) await refused(request('GET'), [name, 'close']);
  for (const value of ['a\r\nX-B: c', 'a\n', '\0', '\u007f', 'é', 'Ā'])
    await refused(request('GET'), ['X-A', value]);
});

t.test('so does it with one that waits for 100 Continue', async (t) => {
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
