import { once } from 'node:events';
import { STATUS_CODES } from 'node:http';
import net from 'node:net';
import { Problem } from '../../src/errors/problem.js';
import type { Action } from '../../src/http/router.js';
import { requiring } from '../support/requiring.js';
import { type TestService, testService } from '../support/service.js';
import t, { type Test } from '../support/test.js';

const HOST = 'Host: plinth.test\r\n';
const JSON_BODY = `${HOST}Content-Type: application/json\r\n`;
const LIMIT = 1_048_576;

/** One response as it came over the wire. */
interface Wire {
  readonly status: number;
  readonly reason: string;
  readonly fields: ReadonlyMap<string, string>;
  readonly body: string;
}

/** A connection that is read one response after the other. */
class Client {
  readonly closed: Promise<unknown>;
  #text = '';
  #ended = false;

  private constructor(readonly socket: net.Socket) {
    socket.on('data', (chunk) => {
      this.#text += chunk.toString('latin1');
      socket.emit('more');
    });
    // A reset is one of the ways a connection may end; what was read before it counts.
    socket.on('error', () => undefined);
    this.closed = once(socket, 'close').then(() => {
      this.#ended = true;
      socket.emit('more');
    });
  }

  static async open(t: Test, { url }: TestService): Promise<Client> {
    const { hostname, port } = new URL(url);
    const socket = net.connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    t.teardown(() => socket.destroy());
    const client = new Client(socket);
    socket.on('end', () => socket.end());
    await once(socket, 'connect');
    return client;
  }

  /** Bytes that have arrived and that `next` has not returned yet. */
  get rest(): string {
    return this.#text;
  }

  write(bytes: string | Buffer): void {
    this.socket.write(bytes);
  }

  /** The next whole response; `head` when it is one to HEAD. Throws when the connection ends before. */
  async next(head = false): Promise<Wire> {
    for (;;) {
      const response = this.#take(head);
      if (response) return response;
      if (this.#ended) throw new Error(`closed after ${JSON.stringify(this.#text.slice(0, 200))}`);
      await once(this.socket, 'more');
    }
  }

  #take(head: boolean): Wire | undefined {
    const end = this.#text.indexOf('\r\n\r\n');
    if (end < 0) return undefined;
    const [line = '', ...rest] = this.#text.slice(0, end).split('\r\n');
    const fields = new Map(rest.map((field) => splitField(field)));
    const [, status = '', reason = ''] = /^HTTP\/1\.1 (\d{3}) (.*)$/.exec(line) ?? [];
    if (status === '') throw new Error(`no status line: ${line}`);
    const start = end + 4;
    let stop = start + Number(head ? 0 : (fields.get('content-length') ?? 0));
    if (!head && fields.get('transfer-encoding') === 'chunked') {
      const last = this.#text.indexOf('\r\n0\r\n\r\n', end);
      stop = last < 0 ? Number.POSITIVE_INFINITY : last + 7;
    }
    if (this.#text.length < stop) return undefined;
    const body = this.#text.slice(start, stop);
    this.#text = this.#text.slice(stop);
    return { status: Number(status), reason, fields, body };
  }
}

function splitField(field: string): [string, string] {
  const colon = field.indexOf(':');
  return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()];
}

/** An error response in the envelope, its reason phrase the one of its status. */
function isError(t: Test, response: Wire, status: number, says: string): void {
  t.equal(response.status, status, `${says}: ${status}`);
  t.equal(response.reason, STATUS_CODES[status], `${says}: reason phrase`);
  t.match(JSON.parse(response.body), { error: { code: /^[A-Z_]+$/, message: /\w/ } }, `${says}: envelope`);
  t.equal(response.fields.get('content-type'), 'application/json', `${says}: media type`);
  t.ok(response.fields.has('date'), `${says}: Date`);
}

function post(body: string, fields = ''): string {
  return `POST /users HTTP/1.1\r\n${JSON_BODY}${fields}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

let people = 0;

function person(): string {
  people++;
  return JSON.stringify({ email: `p${people}@example.org`, name: `Person ${people}` });
}

interface Row {
  readonly says: string;
  readonly bytes: string | Buffer;
  readonly status: number;
  /** The server must end the connection, having said so. */
  readonly closes?: true;
  readonly allow?: string;
}

/** The server must end the connection, having said so. */
const CLOSES = { closes: true } as const;

const refusal = (
  says: string,
  bytes: Row['bytes'],
  status: number,
  more: Pick<Row, 'closes' | 'allow'> = {},
): Row => ({ says, bytes, status, ...more });

const get = (target: string, fields = HOST, version = 'HTTP/1.1') =>
  `GET ${target} ${version}\r\n${fields}\r\n`;
const method = (name: string, target = '/users') => `${name} ${target} HTTP/1.1\r\n${HOST}\r\n`;
const framed = (fields: string, body = '') => `POST /users HTTP/1.1\r\n${JSON_BODY}${fields}\r\n${body}`;
const ALL = 'GET, HEAD, QUERY, POST, PUT, PATCH, DELETE, OPTIONS';
const CHUNKED = 'Transfer-Encoding: chunked\r\n';
const CHUNKS = '2\r\n{}\r\n0\r\n\r\n';
const LENGTH = 'Content-Length: 2\r\n';
const manyFields = (bytes: number) => `${HOST}${`X-Long: ${'a'.repeat(500)}\r\n`.repeat(bytes / 510)}`;

const refused: Row[] = [
  // Host: RFC 9112 section 3.2
  refusal('no Host', get('/users', ''), 400),
  refusal('Host twice', get('/users', `${HOST}${HOST}`), 400),
  refusal('Host twice in another case', get('/users', `${HOST}hOST: plinth.test\r\n`), 400),
  refusal('empty Host', get('/users', 'Host:\r\n'), 400),
  ...['a b', 'a/b', 'user@a', 'a:b', 'a:1:2', '[::1', 'a, b', 'http://a', 'a?b', 'a#b', 'a\\b', '"a"'].map(
    (host) => refusal(`Host ${host}`, get('/users', `Host: ${host}\r\n`), 400),
  ),
  refusal('HTTP/1.0 with a malformed Host', get('/users', 'Host: a b\r\n', 'HTTP/1.0'), 400),

  // The target: RFC 9112 section 3.2
  refusal('GET *', get('*'), 400),
  refusal('absolute-form without a host', get('http:///users'), 400),
  refusal('absolute-form of another scheme', get('ftp://plinth.test/users'), 400),
  refusal('absolute-form with user information', get('http://a@plinth.test/users'), 400),
  refusal('a fragment', get('/users#top'), 400),
  refusal('a space in the target', get('/us ers'), 400, CLOSES),
  refusal('no slash at the start', get('users'), 400, CLOSES),
  refusal('raw UTF-8 in the target', Buffer.from(get('/é')), 400, CLOSES),
  refusal('a target of 9 KB', get(`/${'a'.repeat(9000)}`), 414),
  refusal('a query of 9 KB', get(`/items?search=${'a'.repeat(9000)}`), 414),
  refusal('a target of 30 KB', get(`/${'a'.repeat(30_000)}`), 414),
  refusal('a target of 60 KB', get(`/${'a'.repeat(60_000)}`), 414, CLOSES),

  // Methods: RFC 9110 section 9
  ...['FOO', 'get', 'PROPFIND', 'GETX', 'PUTT', 'M-SEARCH', 'X'].map((name) =>
    refusal(`method ${name}`, method(name), 501),
  ),
  refusal('an unknown method with a long target', method('FOO', `/${'a'.repeat(2000)}`), 501),
  refusal('TRACE', method('TRACE'), 405, { allow: 'GET, HEAD, QUERY, POST, OPTIONS' }),
  refusal('CONNECT', method('CONNECT', 'a.test:443'), 405, { ...CLOSES, allow: ALL }),

  // Messages that are no HTTP/1.1.
  refusal('a TLS hello', Buffer.from('16030100a5010000a10303', 'hex'), 400, CLOSES),
  refusal('garbage', '\0\0\0\0\r\n\r\n', 400, CLOSES),
  refusal('words', 'hello there, server\r\n\r\n', 400, CLOSES),
  refusal('a half known method and garbage', 'GE\x16\r\n\r\n', 400, CLOSES),
  refusal('HTTP/0.9', 'GET /users\r\n\r\n', 505),
  refusal('HTTP/2.0', get('/users', HOST, 'HTTP/2.0'), 505),
  refusal('HTTP/3.0', get('/users', HOST, 'HTTP/3.0'), 505, CLOSES),
  refusal('HTTP/2 preface', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, CLOSES),
  refusal('another protocol', get('/users', HOST, 'ICAP/1.0'), 400, CLOSES),
  refusal('bare line feeds', `GET /users HTTP/1.1\nHost: a\n\n`, 400, CLOSES),

  // Header fields: RFC 9112 section 5
  refusal('a space before the colon', get('/users', `${HOST}X : a\r\n`), 400, CLOSES),
  refusal('obs-fold', get('/users', `${HOST}X: a\r\n b\r\n`), 400, CLOSES),
  refusal('a fold in the first field', get('/users', ` X: a\r\n${HOST}`), 400, CLOSES),
  refusal('a bare CR', get('/users', `${HOST}X: a\rb\r\n`), 400, CLOSES),
  refusal('NUL in a field', get('/users', `${HOST}X: a\0b\r\n`), 400, CLOSES),
  refusal('a field without a colon', get('/users', `${HOST}X\r\n`), 400, CLOSES),
  refusal('one field of 17 KB', get('/users', `${HOST}X: ${'a'.repeat(17_000)}\r\n`), 431),
  refusal('one field of 40 KB', get('/users', `${HOST}X: ${'a'.repeat(40_000)}\r\n`), 431),
  refusal('one field of 60 KB', get('/users', `${HOST}X: ${'a'.repeat(60_000)}\r\n`), 431, CLOSES),
  refusal('fields of 17 KB', get('/users', manyFields(17_000)), 431),
  refusal('fields of 40 KB', get('/users', manyFields(40_000)), 431),
  refusal('fields of 60 KB', get('/users', manyFields(60_000)), 431, CLOSES),

  // Framing: RFC 9112 section 6
  refusal('Transfer-Encoding from HTTP/1.0', framed(CHUNKED, CHUNKS).replace('1.1', '1.0'), 400, CLOSES),
  refusal('gzip, chunked', framed('Transfer-Encoding: gzip, chunked\r\n', CHUNKS), 501, CLOSES),
  refusal('an unknown transfer coding', framed('Transfer-Encoding: xchunked\r\n', CHUNKS), 501, CLOSES),
  refusal('chunked, gzip', framed('Transfer-Encoding: chunked, gzip\r\n', '0\r\n\r\n'), 400, CLOSES),
  refusal('chunked twice', framed(CHUNKED + CHUNKED, '0\r\n\r\n'), 400, CLOSES),
  refusal('Transfer-Encoding, Content-Length', framed(`${CHUNKED}${LENGTH}`, CHUNKS), 400, CLOSES),
  refusal('Content-Length, Transfer-Encoding', framed(`${LENGTH}${CHUNKED}`, CHUNKS), 400, CLOSES),
  ...['zz', '-1', '0x2', '2 2', '', '11111111111111111'].map((size) =>
    refusal(`chunk size '${size}'`, framed(CHUNKED, `${size}\r\n{}\r\n0\r\n\r\n`), 400, CLOSES),
  ),
  refusal('a chunk longer than its size', framed(CHUNKED, '2\r\n{}{}\r\n0\r\n\r\n'), 400, CLOSES),
  refusal('an endless chunk extension', framed(CHUNKED, `2;${'a'.repeat(20_000)}\r\n{}\r\n`), 400, CLOSES),
  ...['-1', '+2', 'two', '2, 2', '2.0', '0x2', '1e3', '99999999999999999999', '2 2', ''].map((length) =>
    refusal(`Content-Length '${length}'`, framed(`Content-Length: ${length}\r\n`, '{}'), 400, CLOSES),
  ),
  refusal('two Content-Lengths', framed(`${LENGTH}Content-Length: 3\r\n`, '{}'), 400, CLOSES),
  refusal('the same Content-Length twice', framed(LENGTH + LENGTH, '{}'), 400, CLOSES),

  // Expectations: RFC 9110 section 10.1.1
  refusal('another expectation', post(person(), 'Expect: 200-ok\r\n'), 417),
];

t.test('what is no proper request is refused, each in the envelope', async (t) => {
  const service = await testService(t);
  const faults: unknown[] = [];
  const note = (fault: unknown) => faults.push(fault);
  process.on('warning', note);
  t.teardown(() => process.off('warning', note));
  for (const { says, bytes, status, closes, allow } of refused) {
    const client = await Client.open(t, service);
    client.write(bytes);
    const response = await client.next();
    isError(t, response, status, says);
    if (allow) t.equal(response.fields.get('allow'), allow, `${says}: Allow`);
    if (closes) {
      t.equal(response.fields.get('connection'), 'close', `${says}: Connection`);
      await client.closed;
      t.equal(client.rest, '', `${says}: one response`);
    } else if (response.fields.get('connection') !== 'close') {
      client.write(get('/users'));
      t.equal((await client.next()).status, 200, `${says}: the connection goes on`);
    }
    client.socket.destroy();
  }
  t.same((await service.send('GET', '/users')).json, [], 'none of them left a record');
  t.same(faults, [], 'the process has no fault to report');
});

t.test('an unknown method is recognized from its first bytes on', async (t) => {
  const service = await testService(t);
  const client = await Client.open(t, service);
  client.write('FO');
  isError(t, await client.next(), 501, 'FO');
});

t.test('the forms of a request target', async (t) => {
  const { raw } = await testService(t, { ALLOWED_HOSTS: 'plinth.test other.test a_b' });
  const closing = `${HOST}Connection: close\r\n`;
  t.match(await raw(get('http://plinth.test/users', closing)), /^HTTP\/1\.1 200 OK\r\n/, 'absolute');
  t.match(await raw(get('HTTPS://other.test:8443/users', closing)), /^HTTP\/1\.1 200 /, 'other than Host');
  t.match(await raw(get('http://plinth.test/items?limit=3', closing)), /limit=3/, 'absolute with a query');
  t.match(await raw(get('http://plinth.test', closing)), /^HTTP\/1\.1 200 /, 'absolute without a path');
  t.match(await raw(get('http://plinth.test/users', 'Connection: close\r\n')), /^HTTP\/1\.1 400 /, 'no Host');
  const server = await raw(`OPTIONS * HTTP/1.1\r\n${closing}\r\n`);
  t.match(server, /^HTTP\/1\.1 204 No Content\r\n/);
  t.match(server, `\r\nAllow: ${ALL}\r\n`);
  t.notMatch(server, /content-length|transfer-encoding/i, 'RFC 9110 section 8.6');
  for (const host of ['[::1]:3000', '127.0.0.1', 'plinth.test:', 'PLINTH.test:80', 'a_b'])
    t.match(await raw(get('/users', `Host: ${host}\r\nConnection: close\r\n`)), /^HTTP\/1\.1 200 /, host);
});

t.test('HTTP/1.0: no Host needed, and the connection ends', async (t) => {
  const { raw } = await testService(t);
  const response = await raw('GET /items HTTP/1.0\r\n\r\n');
  t.match(response, /^HTTP\/1\.1 200 OK\r\n/);
  t.match(response, /\r\nConnection: close\r\n/);
  t.match(response, /"totalPages":0/);
  const array = await raw('GET /users HTTP/1.0\r\n\r\n');
  t.notMatch(array, /Transfer-Encoding/i, 'RFC 9112 section 6.1');
  t.match(array, /\r\n\r\n\[\]$/);
  const expecting = post(person(), 'Expect: 100-continue\r\n').replace('HTTP/1.1', 'HTTP/1.0');
  t.match(await raw(expecting), /^HTTP\/1\.1 201 /, 'RFC 9110 section 10.1.1: its expectation is ignored');
});

t.test('a connection goes on after any response that leaves it whole', async (t) => {
  const service = await testService(t, { BODY_LIMIT: '1024' });
  const client = await Client.open(t, service);
  const steps: [string, number][] = [
    [get('/users'), 200],
    [get('/nothing'), 404],
    [get('/users/1'), 404],
    [post('{'), 400],
    [post('[]'), 400],
    [`PUT /users HTTP/1.1\r\n${JSON_BODY}Content-Length: 2\r\n\r\n{}`, 405],
    [post('a'.repeat(1025)), 413],
    [post('a'.repeat(60_000)), 413],
    [post('{}', 'Content-Encoding: gzip\r\n'), 400],
    [post('{}', 'Content-Encoding: compress\r\n'), 415],
    [method('FOO').replace('FOO', 'PROPFIND'), 501],
    [get('/users', 'Host: a b\r\n'), 400],
    [`GET /users HTTP/1.1\r\n${HOST}Content-Length: 5\r\n\r\nhello`, 200],
    [`GET /users HTTP/1.1\r\n${HOST}Content-Length: 60000\r\n\r\n${'a'.repeat(60_000)}`, 200],
    [`GET /items HTTP/1.1\r\n${HOST}Content-Length: 5\r\n\r\nhello`, 200],
    [`DELETE /users/1 HTTP/1.1\r\n${HOST}Content-Length: 5\r\n\r\nhello`, 204],
    [framed(CHUNKED, '1\r\n{\r\n1;a=b\r\n}\r\n0\r\nX-Trailer: a\r\n\r\n'), 400],
    [`POST /users HTTP/1.1\r\n${HOST}\r\n`, 400],
    [post(person()), 201],
    ['\r\nGET /users HTTP/1.1\r\nHost: a\r\n\r\n', 200],
  ];
  for (const [bytes, status] of steps) {
    client.write(bytes);
    const response = await client.next();
    const says = JSON.stringify(bytes.slice(0, 60));
    t.equal(response.status, status, says);
    t.not(response.fields.get('connection'), 'close', says);
  }
});

t.test('a chunked body over the limit leaves a connection that is usable or closed', async (t) => {
  const service = await testService(t, { BODY_LIMIT: '1024' });
  const client = await Client.open(t, service);
  client.write(framed(CHUNKED, `ea60\r\n${'a'.repeat(60_000)}\r\n0\r\n\r\n`));
  const response = await client.next();
  isError(t, response, 413, 'chunked');
  if (response.fields.get('connection') === 'close') return client.closed;
  client.write(get('/users'));
  t.equal((await client.next()).status, 200);
});

t.test('pipelined requests get their responses in order', async (t) => {
  const service = await testService(t);
  const client = await Client.open(t, service);
  client.write(
    post(person()) + get('/nothing') + method('HEAD') + get('/users') + method('TRACE') + post(person()),
  );
  t.equal((await client.next()).status, 201);
  t.equal((await client.next()).status, 404);
  t.equal((await client.next(true)).status, 200);
  const list = await client.next();
  t.equal(list.status, 200);
  t.match(list.body, /^[0-9a-f]+\r\n\[.*\]\r\n0\r\n\r\n$/s);
  t.equal((await client.next()).status, 405);
  t.equal((await client.next()).status, 201);
  t.equal(client.rest, '');
});

t.test('the response to what is malformed comes after those to the valid requests before it', async (t) => {
  const service = await testService(t);
  const valid: [string, number][] = [
    [get('/nothing'), 404],
    [post(person()), 201],
    [get('/users'), 200],
    [get('/items'), 200],
  ];
  const bad: [string, number][] = [
    ['GET /users HTTP/1.1\r\nBad : a\r\n\r\n', 400],
    ['FOO / HTTP/1.1\r\nHost: a\r\n\r\n', 501],
    ['\x16\x03\x01', 400],
    [framed(CHUNKED, 'zz\r\n'), 400],
    [framed('Content-Length: a\r\n'), 400],
    [method('CONNECT', 'a.test:443'), 405],
  ];
  for (const [first, firstStatus] of valid) {
    for (const [second, secondStatus] of bad) {
      const client = await Client.open(t, service);
      client.write((first.startsWith('POST') ? post(person()) : first) + second);
      const says = JSON.stringify(`${first.slice(0, 12)} ... ${second.slice(0, 12)}`);
      t.equal((await client.next()).status, firstStatus, says);
      isError(t, await client.next(), secondStatus, says);
      await client.closed;
      t.equal(client.rest, '', `${says}: no third response`);
    }
  }
});

t.test('a request whose response came before its body turned out malformed has one response', async (t) => {
  const service = await testService(t);
  const client = await Client.open(t, service);
  client.write(`POST /nothing HTTP/1.1\r\n${HOST}${CHUNKED}\r\nzz\r\n\r\n`);
  const response = await client.next();
  t.ok([400, 404].includes(response.status), `${response.status}`);
  await client.closed;
  t.equal(client.rest, '');
});

t.test('nothing after Connection: close is read as a request', async (t) => {
  const service = await testService(t, { BODY_LIMIT: '1024' });
  const rows: [string, string, number][] = [
    ['said by the client', get('/nothing', `${HOST}Connection: close\r\n`), 404],
    ['said by HTTP/1.0', 'GET /nothing HTTP/1.0\r\n\r\n', 404],
    [
      'said by the server: a body not read',
      framed(CHUNKED, `186a0\r\n${'a'.repeat(100_000)}\r\n0\r\n\r\n`),
      413,
    ],
    ['said by the server: a length not read', post('a'.repeat(100_000)), 413],
    ['said by the server: an expectation', post('a'.repeat(2000), 'Expect: 100-continue\r\n'), 413],
  ];
  for (const [says, bytes, status] of rows) {
    const client = await Client.open(t, service);
    const late = post(person());
    client.write(bytes.slice(0, -1));
    // A server that does not read the body responds before the message is over.
    const early = status === 413 ? await client.next() : undefined;
    client.write(bytes.slice(-1) + late);
    t.equal((early ?? (await client.next())).status, status, says);
    await client.closed;
    t.equal(client.rest, '', `${says}: one response`);
  }
  t.same((await service.send('GET', '/users')).json, [], 'and nothing was written');
});

t.test('Expect: 100-continue', async (t) => {
  const service = await testService(t);
  const expecting = (start: string, length: number) =>
    `${start} HTTP/1.1\r\n${JSON_BODY}Expect: 100-continue\r\nContent-Length: ${length}\r\n\r\n`;
  const accepted = await Client.open(t, service);
  const body = person();
  accepted.write(expecting('POST /users', body.length));
  t.match(await accepted.next(), { status: 100, reason: 'Continue' });
  accepted.write(body);
  t.equal((await accepted.next()).status, 201);
  accepted.write(get('/users'));
  t.equal((await accepted.next()).status, 200, 'and the connection goes on');

  const refusals: [string, number, number][] = [
    ['POST /users', LIMIT + 1, 413],
    ['POST /nothing', 10, 404],
    ['PUT /users', 10, 405],
    ['PROPFIND /users', 10, 501],
  ];
  for (const [start, length, status] of refusals) {
    const client = await Client.open(t, service);
    client.write(expecting(start, length));
    const response = await client.next();
    isError(t, response, status, start);
    t.equal(response.fields.get('connection'), 'close', `${start}: the body may come or not`);
    await client.closed;
  }
  const untyped = await Client.open(t, service);
  untyped.write(expecting('POST /users', 2).replace('application/json', 'text/plain'));
  isError(t, await untyped.next(), 415, 'an unsupported type');

  const without = await Client.open(t, service);
  without.write(`GET /users HTTP/1.1\r\n${HOST}Expect: 100-continue\r\n\r\n`);
  t.equal((await without.next()).status, 200, 'no body to wait for: no 100');

  const other = await Client.open(t, service);
  other.write(post(person(), 'Expect: a-cookie\r\n'));
  isError(t, await other.next(), 417, 'another expectation');
});

t.test('a body over the limit: the response is read by a client that is still sending', async (t) => {
  const service = await testService(t);
  const size = 3_000_000;
  const bytes = Buffer.alloc(size, 'a');
  const declared = Buffer.concat([Buffer.from(framed(`Content-Length: ${size}\r\n`)), bytes]);
  const chunked = Buffer.concat([
    Buffer.from(framed(CHUNKED, `${size.toString(16)}\r\n`)),
    bytes,
    Buffer.from('\r\n0\r\n\r\n'),
  ]);
  const unwanted = Buffer.concat([
    Buffer.from(`PUT /users HTTP/1.1\r\n${JSON_BODY}Content-Length: ${size}\r\n\r\n`),
    bytes,
  ]);
  const rows: [string, Buffer, number][] = [
    ['declared', declared, 413],
    ['chunked', chunked, 413],
    ['to an unsupported method', unwanted, 405],
  ];
  for (const [says, request, status] of rows) {
    const reading = await Client.open(t, service);
    reading.write(request);
    isError(t, await reading.next(), status, `${says}, read while sending`);
    await reading.closed;

    const deaf = await Client.open(t, service);
    deaf.socket.pause();
    const sent = new Promise((resolve) => deaf.socket.write(request, resolve));
    await Promise.race([sent, deaf.closed]);
    deaf.socket.resume();
    const response = await deaf.next();
    isError(t, response, status, `${says}, read after sending all of it`);
    t.equal(response.fields.get('connection'), 'close');
  }
  t.same((await service.send('GET', '/users')).json, []);
});

t.test('HEAD has the header fields of GET and no body', async (t) => {
  const service = await testService(t);
  const { json } = await service.send('POST', '/users', { body: person() });
  const rows: [string, string][] = [
    [`/users/${json.id}`, ''],
    [`/users/${json.id}`, `Accept: text/html\r\nCookie: plinth_form=${'a'.repeat(24)}\r\n`],
    [`/users/${json.id}`, 'Accept: text/csv\r\n'],
    [`/users/${json.id}`, 'Accept: image/png\r\n'],
    [`/users/${json.id}`, 'Accept: application/problem+json, application/json\r\n'],
    ['/users/1', ''],
    ['/items/1', ''],
    ['/nothing', ''],
    ['/items', ''],
    ['/users?page=1', ''],
    ['/api/v2/users', ''],
    ['/openapi.json', 'Accept-Encoding: gzip\r\n'],
    ['/users', 'API-Version: 7\r\n'],
  ];
  const client = await Client.open(t, service);
  for (const [path, fields] of rows) {
    const says = `${path} ${fields.trim()}`;
    client.write(`GET ${path} HTTP/1.1\r\n${HOST}${fields}X-Request-Id: a\r\n\r\n`);
    const whole = await client.next();
    client.write(`HEAD ${path} HTTP/1.1\r\n${HOST}${fields}X-Request-Id: a\r\n\r\n`);
    const head = await client.next(true);
    t.equal(head.status, whole.status, says);
    t.ok(head.fields.has('content-length'), `${says}: Content-Length`);
    const still = (wire: Wire) =>
      [...wire.fields]
        .filter(([name]) => name !== 'date')
        // The cursor moves on when events become final.
        .map(([name, value]) => [name, name === 'events-cursor' ? '' : value]);
    t.same(still(head), still(whole), says);
  }
  client.write(method('HEAD') + get('/nothing'));
  const streamed = await client.next(true);
  t.equal(streamed.fields.get('content-type'), 'application/json', 'an array');
  t.equal((await client.next()).status, 404, 'and nothing but its header section came');
});

t.test('a client that leaves leaves nothing behind', async (t) => {
  const service = await testService(t, { SHUTDOWN_MS: '60000' });
  const body = person();
  const half = body.slice(0, 20);
  const starts = [
    framed(`Content-Length: ${body.length}\r\n`, half),
    framed(CHUNKED, `${body.length.toString(16)}\r\n${half}`),
    framed(`Content-Length: ${body.length}\r\n`),
    'POST /users HTTP/1.1\r\nHost',
    method('CONNECT', 'a.test:443'),
    post(person()) + method('CONNECT', 'a.test:443'),
    '\x16\x03',
    '',
  ];
  for (const start of starts) {
    for (const way of ['reset', 'end', 'destroy'] as const) {
      const client = await Client.open(t, service);
      if (start !== '') await new Promise((resolve) => client.socket.write(start, resolve));
      if (way === 'reset') client.socket.resetAndDestroy();
      else client.socket[way]();
      await client.closed;
    }
  }
  const left = (await service.send('GET', '/users')).json as { email: string }[];
  t.notOk(
    left.some(({ email }) => body.includes(email)),
    'no record of half a body',
  );
  // With a minute for what is in flight, a stop that ends at all shows that nothing is.
  await service.stop();
});

t.test('half a body and an end is a malformed request', async (t) => {
  const service = await testService(t);
  for (const bytes of [
    framed('Content-Length: 100\r\n', '{"name":'),
    framed(CHUNKED, '64\r\n{"name":'),
    'GET /users HT',
    'GET /users HTTP/1.1\r\nHost: a',
  ]) {
    const client = await Client.open(t, service);
    client.socket.end(bytes);
    isError(t, await client.next(), 400, JSON.stringify(bytes.slice(-20)));
    await client.closed;
  }
  t.same((await service.send('GET', '/users')).json, []);
});

t.test('a client that says it sends no more gets its response', async (t) => {
  const service = await testService(t);
  const body = person();
  for (const [bytes, statuses] of [
    [post(body), [201]],
    [get('/users'), [200]],
    [get('/items') + get('/users') + get('/nothing'), [200, 200, 404]],
  ] as const) {
    const client = await Client.open(t, service);
    client.socket.end(bytes);
    for (const status of statuses) t.equal((await client.next()).status, status, bytes.slice(0, 12));
    await client.closed;
    t.equal(client.rest, '');
  }
});

t.test('a request that does not arrive in time: 408', async (t) => {
  const service = await testService(t, { REQUEST_TIMEOUT_MS: '200' }, { headersTimeoutMs: 100 });
  const person = '{"email":"cut@example.org","name":"Cut"}';
  const bodies = [framed('Content-Length: 100\r\n', person), framed(CHUNKED, `28\r\n${person}\r\n`)];
  for (const bytes of ['GET /users HTTP/1.1\r\nHost: a\r\nX-', 'GE', ...bodies]) {
    const client = await Client.open(t, service);
    client.write(bytes);
    const response = await client.next();
    isError(t, response, 408, JSON.stringify(bytes.slice(0, 20)));
    t.equal(response.fields.get('connection'), 'close');
    await client.closed;
    t.equal(client.rest, '');
  }
  const patient = await testService(t, { DATABASE_URL: service.databaseUrl });
  t.same((await patient.send('GET', '/users')).json, []);
});

t.test('an error response that cannot be written becomes a 500', async (t) => {
  const broken = (headers: readonly string[]): Action => ({
    run: async () => {
      throw new Problem(409, 'DUPLICATE', 'It cannot be sent.', { headers });
    },
  });
  const path = '/broken';
  const env = { LOG_LEVEL: 'error', MAX_REQUESTS: '2' };
  const service = await testService(
    t,
    env,
    {},
    {
      routes: [{ path, actions: { GET: requiring('nothing', broken(['X-Why', 'a\r\nB: c'])) } }],
    },
  );
  for (let round = 0; round < 3; round++) {
    const { status, json } = await service.send('GET', path);
    t.equal(status, 500, 'the request before it is no longer in flight');
    t.equal(json.error.code, 'INTERNAL_ERROR');
  }
  t.equal(service.logged.filter((line) => line.includes('an error response could not be sent')).length, 3);
  t.equal((await service.send('GET', '/healthz')).status, 200);
});
