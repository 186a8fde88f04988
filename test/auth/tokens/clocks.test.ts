import { prune } from '../../../src/db/maintenance.js';
import { shiftClock, shiftedDatabase } from '../../support/clock.js';
import { byToken } from '../../support/credentials.js';
import { AUDIENCE, claims, sign, signingKey, testIssuer } from '../../support/issuer.js';
import { RETENTION, type TestService, testService } from '../../support/service.js';
import { sign as signRequest } from '../../support/signed.js';
import t from '../../support/test.js';

const SECRET = 'the first secret, of more than 32 characters';
const SIGNATURE = {
  AUTH: 'signature',
  SIGNING_SECRETS: JSON.stringify([{ id: 'a', secret: SECRET, subject: 'ada', scopes: ['admin'] }]),
  AUTH_FAILURES: '0',
};

/** The statuses of the same request twice, with all that has expired forgotten in between. */
async function twice({ send, db }: TestService, path: string, headers: Record<string, string>) {
  const first = await send('GET', path, { headers });
  await prune(db, RETENTION);
  return [first.status, (await send('GET', path, { headers })).status];
}

const CASES: readonly [ahead: number, age: number, statuses: readonly number[]][] = [
  [0, 0, [200, 401]],
  [0, 290, [200, 401]],
  [100, 0, [200, 401]],
  [200, 290, [401, 401]],
  [900, 0, [401, 401]],
  [-900, 0, [200, 401]],
  [-900, 290, [200, 401]],
];

t.test('a signature is never accepted twice, whatever the clock of the database shows', async (t) => {
  const DATABASE_URL = await shiftedDatabase(t, 0);
  const service = await testService(t, { ...SIGNATURE, DATABASE_URL });
  for (const [at, [ahead, age, statuses]] of CASES.entries()) {
    await shiftClock(DATABASE_URL, ahead);
    const path = `/whoami?_case=${at}`;
    const headers = signRequest('a', SECRET, 'GET', path, '', age);
    t.same(await twice(service, path, headers), statuses, `of ${age} s ago, ${ahead} s ahead`);
  }
  await shiftClock(DATABASE_URL, 900);
  const headers = signRequest('a', SECRET, 'GET', '/whoami', '');
  const { json } = await service.send('GET', '/whoami', { headers });
  t.match(json.error, { code: 'UNAUTHORIZED', message: /database's clock/ });
});

t.test('a `jti` is never accepted twice either', async (t) => {
  const key = await signingKey('es');
  const issuer = await testIssuer(t, key);
  const DATABASE_URL = await shiftedDatabase(t, 0);
  const env = { AUTH: 'bearer', ISSUER: issuer.url, AUDIENCE, JWT_REPLAY: 'reject', AUTH_FAILURES: '0' };
  const service = await testService(t, { ...env, DATABASE_URL });
  for (const ahead of [-900, 0, 900]) {
    await shiftClock(DATABASE_URL, ahead);
    const token = await sign(key, claims(issuer.url, { jti: `of ${ahead}` }));
    const statuses = await twice(service, '/whoami', byToken(token));
    t.same(statuses, ahead > 600 ? [401, 401] : [200, 401], `${ahead} s ahead`);
  }
});
