import { testService } from '../support/service.js';
import t from '../support/test.js';

const CHUNKED = 'Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n';
const SMUGGLED = 'DELETE /nowhere HTTP/1.1\r\nHost: a\r\nX-Request-Id: smuggled\r\n\r\n';

t.test('Transfer-Encoding from HTTP/1.0 ends the connection (RFC 9112 section 6.1)', async (t) => {
  const { raw, send } = await testService(t);
  const long = 'a'.repeat(9000);
  const requests: [says: string, bytes: string, status: number][] = [
    ['a whole body', `POST /users HTTP/1.0\r\nHost: a\r\n${CHUNKED}\r\n0\r\n\r\n`, 400],
    ['no Host', `POST /users HTTP/1.0\r\n${CHUNKED}\r\n0\r\n\r\n`, 400],
    ['another error first', `POST /${long} HTTP/1.0\r\nHost: a\r\n${CHUNKED}\r\n0\r\n\r\n`, 414],
    ['a GET', `GET /users HTTP/1.0\r\nHost: a\r\n${CHUNKED}\r\n0\r\n\r\n`, 400],
    [
      'another coding',
      'POST /users HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: x, chunked\r\n\r\n0\r\n\r\n',
      501,
    ],
  ];
  for (const [says, bytes, status] of requests) {
    const text = await raw(bytes + SMUGGLED);
    t.match(text, new RegExp(`^HTTP/1\\.1 ${status} `), says);
    t.match(text, /\r\nconnection: close\r\n/i, says);
    t.equal(text.match(/HTTP\/1\.1 /g)?.length, 1, `${says}: one response`);
    t.notMatch(text, /smuggled/, says);
  }
  const post = `POST /items HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n`;
  const smuggled = `${post}Content-Length: 12\r\n\r\n{"name":"x"}`;
  for (const [says, bytes] of requests) {
    await raw(bytes + smuggled);
    t.same((await send('GET', '/items?page=1')).json.meta.total, 0, `${says}: nothing was created`);
  }
});
