import { hash, randomUUID } from 'node:crypto';
import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { declaredService } from '../support/callers.js';
import { ADMIN, text, withAccess } from '../support/declared.js';
import { AUDIENCE, claims, sign, signingKey, testIssuer } from '../support/issuer.js';
import t, { type Test } from '../support/test.js';
import { until, untilAtLeast } from '../support/until.js';
import { follow, valuesIn } from './follow.js';

const NOTES = withAccess({ text, owner: text }, [{ can: 'all', where: { owner: '$caller' } }, ADMIN]);

interface ProofKey {
  readonly privateKey: CryptoKey;
  readonly jwk: JWK;
  readonly jkt: string;
}

async function proofKey(): Promise<ProofKey> {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
  const jwk = await exportJWK(publicKey);
  return { privateKey, jwk, jkt: await calculateJwkThumbprint(jwk) };
}

async function open(t: Test) {
  const key = await signingKey('es');
  const issuer = await testIssuer(t, key);
  const env = { AUTH: 'bearer', ISSUER: issuer.url, AUTH_FAILURES: '1000', AUDIENCE };
  const service = await declaredService(t, { 'notes.json': NOTES }, env);
  const token = (sub: string, by: ProofKey | undefined, more: object = {}) =>
    sign(key, claims(issuer.url, { sub, scope: 'self', ...(by && { cnf: { jkt: by.jkt } }), ...more }));
  const proof = (by: ProofKey, text: string, more: object = {}) =>
    new SignJWT({
      htm: 'GET',
      htu: `${service.url}/events`,
      ath: hash('sha256', text, 'base64url'),
      jti: randomUUID(),
      iat: Math.floor(Date.now() / 1000),
      ...more,
    })
      .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk: by.jwk })
      .sign(by.privateKey);
  return { service, token, proof };
}

const headersOf = (token: string, proof: string) => ({
  authorization: `DPoP ${token}`,
  dpop: proof,
  accept: 'text/event-stream',
});

t.test('a stream of a token that is bound to a key needs a new proof by that key', async (t) => {
  const { service, token, proof } = await open(t);
  const [own, other] = [await proofKey(), await proofKey()];
  const ann = await token('ann', own);
  const bob = await token('bob', other);
  const admin = { authorization: `Bearer ${await token('root', undefined, { scope: 'admin' })}` };
  const first = await proof(own, ann);
  const stream = await follow(t, `${service.url}/events?types=notes.*&after=now`, headersOf(ann, first));
  t.equal(stream.status, 200, stream.text());
  const refused = async (name: string, headers: Record<string, string>, method = 'GET') => {
    const { status, text } = await service.send(method, '/events?types=notes.*', { headers });
    t.equal(status, 401, `${name}: ${text}`);
  };
  await refused('the proof again', headersOf(ann, first));
  await refused('the proof again, after an event', { ...headersOf(ann, first), 'last-event-id': '0' });
  await refused('a proof by another key', headersOf(ann, await proof(other, ann)));
  await refused('a proof for another token', headersOf(ann, await proof(own, bob)));
  await refused('the token of another key', headersOf(bob, await proof(own, bob)));
  await refused('a proof for another method', headersOf(ann, await proof(own, ann, { htm: 'POST' })));
  const elsewhere = { htu: `${service.url}/notes` };
  await refused('a proof for another path', headersOf(ann, await proof(own, ann, elsewhere)));
  await refused('an old proof', headersOf(ann, await proof(own, ann, { iat: 1_000_000_000 })));
  await refused('no proof', { authorization: `DPoP ${ann}`, accept: 'text/event-stream' });
  await refused('as Bearer', { authorization: `Bearer ${ann}`, accept: 'text/event-stream' });
  for (const owner of ['bob', 'ann']) {
    const body = { text: `of ${owner}`, owner };
    const { status, text } = await service.send('POST', '/notes', { headers: admin, body });
    t.equal(status, 201, text);
  }
  await untilAtLeast('the event has arrived', () => stream.messages, 1);
  t.same(valuesIn(stream, 'text'), ['of ann']);
});

t.test('a stream and a ticket of a token that is bound to a key end with the token', async (t) => {
  const { service, token, proof } = await open(t);
  const own = await proofKey();
  const ann = await token('ann', own, { exp: Math.floor(Date.now() / 1000) + 2 });
  const request = { htm: 'POST', htu: `${service.url}/events/tickets` };
  const made = await service.send('POST', '/events/tickets', {
    headers: { ...headersOf(ann, await proof(own, ann, request)), accept: 'application/json' },
    body: {},
  });
  t.equal(made.status, 201, made.text);
  const headers = headersOf(ann, await proof(own, ann));
  const stream = await follow(t, `${service.url}/events?types=notes.*`, headers);
  t.equal(stream.status, 200, stream.text());
  await until('the stream is over', () => stream.isOver());
  const path = `/events?types=notes.*&ticket=${made.json.ticket}`;
  const late = await service.send('GET', path, { headers: { accept: 'text/event-stream' } });
  t.equal(late.status, 403, late.text);
});
