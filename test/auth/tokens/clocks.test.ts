import { prune } from '../../../src/db/maintenance.js';
import { shiftedDatabase } from '../../support/clock.js';
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

const signed = (age: number) => signRequest('a', SECRET, 'GET', '/whoami', '', age);

/** The statuses of the same request twice, with all that has expired forgotten in between. */
async function twice({ send, db }: TestService, headers: Record<string, string>): Promise<number[]> {
  const first = await send('GET', '/whoami', { headers });
  await prune(db, RETENTION);
  return [first.status, (await send('GET', '/whoami', { headers })).status];
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

for (const [ahead, age, statuses] of CASES) {
  t.test(`a signature of ${age} s ago, the database ${ahead} s ahead: never accepted twice`, async (t) => {
    const service = await testService(t, { ...SIGNATURE, DATABASE_URL: await shiftedDatabase(t, ahead) });
    t.same(await twice(service, signed(age)), statuses);
  });
}

t.test('a signature that is refused for the clock says so', async (t) => {
  const { send } = await testService(t, { ...SIGNATURE, DATABASE_URL: await shiftedDatabase(t, 900) });
  const { json } = await send('GET', '/whoami', { headers: signed(0) });
  t.match(json.error, { code: 'UNAUTHORIZED', message: /database's clock/ });
});

t.test('a `jti` is never accepted twice either', async (t) => {
  const key = await signingKey('es');
  const issuer = await testIssuer(t, key);
  const env = { AUTH: 'bearer', ISSUER: issuer.url, AUDIENCE, JWT_REPLAY: 'reject', AUTH_FAILURES: '0' };
  for (const ahead of [-900, 0, 900]) {
    const service = await testService(t, { ...env, DATABASE_URL: await shiftedDatabase(t, ahead) });
    const token = await sign(key, claims(issuer.url, { jti: `of ${ahead}` }));
    const statuses = await twice(service, { authorization: `Bearer ${token}` });
    t.same(statuses, ahead > 600 ? [401, 401] : [200, 401], `${ahead} s ahead`);
  }
});
