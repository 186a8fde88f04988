import { makeKey } from '../support/credentials.js';
import { testService } from '../support/service.js';
import t from '../support/test.js';

const SECRET = { id: 'one', secret: 's'.repeat(32), subject: 'signer', scopes: ['items:read'] };

t.test('a credential field that is repeated is 400, even if the first is valid', async (t) => {
  const service = await testService(t, {
    AUTH: 'api-key,bearer,signature',
    SIGNING_SECRETS: JSON.stringify([SECRET]),
  });
  const { key } = await makeKey(service.db);
  const get = (...fields: string[]) =>
    service.raw(
      `GET /items HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${fields.map((field) => `${field}\r\n`).join('')}\r\n`,
    );
  t.match(await get(`X-API-Key: ${key}`), /^HTTP\/1\.1 200 /);
  for (const [name, first, second] of [
    ['X-API-Key', key, key],
    ['x-api-key', key, 'other'],
    ['Authorization', `Bearer ${key}`, 'Bearer other'],
    ['AUTHORIZATION', `Bearer ${key}`, 'Basic YTpi'],
    ['X-Signature', 'a', 'b'],
    ['X-Timestamp', '1', '2'],
    ['X-Key-Id', 'one', 'two'],
  ] as const) {
    const valid = name === 'X-API-Key' || /authorization/i.test(name) ? [] : [`X-API-Key: ${key}`];
    const response = await get(`${name}: ${first}`, ...valid, `${name.toLowerCase()}: ${second}`);
    t.match(response, /^HTTP\/1\.1 400 /, name);
    t.match(response, /"code":"BAD_REQUEST"/);
    t.notMatch(response, key, 'the credential is not repeated');
  }
  t.match(await get(`X-API-Key: ${key}`, 'If-None-Match: "a"', 'If-None-Match: "b"'), /^HTTP\/1\.1 200 /);
});
