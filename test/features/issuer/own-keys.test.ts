import { calculateJwkThumbprint, exportJWK, generateKeyPair, jwtVerify, SignJWT } from 'jose';
import type { Db, Row } from '../../../src/db/db.js';
import { OWN_ALGORITHM, ownKeys, SIGNING } from '../../../src/features/issuer/own-keys.js';
import t from '../../support/test.js';

t.test('keys are read once, and again for an unknown one and after ten minutes', async (t) => {
  let rows: Row[] = [];
  let reads = 0;
  let now = Date.now();
  t.intercept(Date, 'now', { value: () => now });
  const run = async () => {
    reads++;
    return rows;
  };
  const keys = ownKeys({ run } as unknown as Db);
  const add = async () => {
    const { privateKey, publicKey } = await generateKeyPair(OWN_ALGORITHM);
    const key = await exportJWK(publicKey);
    const kid = await calculateJwkThumbprint(key);
    rows = [...rows, { purpose: SIGNING, public: JSON.stringify({ ...key, kid, alg: OWN_ALGORITHM }) }];
    return new SignJWT({}).setProtectedHeader({ alg: OWN_ALGORITHM, kid }).sign(privateKey);
  };
  const first = await add();
  for (let at = 0; at < 3; at++) await jwtVerify(first, keys);
  t.equal(reads, 1);
  const second = await add();
  now += 1000;
  await jwtVerify(second, keys);
  t.equal(reads, 2, 'of another process');
  rows = rows.slice(1);
  now += 9 * 60_000;
  await jwtVerify(first, keys);
  now += 2 * 60_000;
  await t.rejects(jwtVerify(first, keys), { code: 'ERR_JWKS_NO_MATCHING_KEY' }, 'published no more');
  await jwtVerify(second, keys);
});
