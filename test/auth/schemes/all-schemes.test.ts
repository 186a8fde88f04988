import { X509Certificate } from 'node:crypto';
import { authority, withoutOpenssl } from '../../support/certificates.js';
import { byToken as bearer, byPassword, makeKey } from '../../support/credentials.js';
import { AUDIENCE, claims, sign, signingKey, testIssuer } from '../../support/issuer.js';
import { testService } from '../../support/service.js';
import { sign as signRequest } from '../../support/signed.js';
import t from '../../support/test.js';

t.test('all schemes of one service, over TLS', { skip: withoutOpenssl }, async (t) => {
  const ca = authority(t);
  const [server, alice, bob] = [ca.sign('server'), ca.sign('alice'), ca.sign('bob')];
  const key = await signingKey('one');
  const issuer = await testIssuer(t, key);
  const secret = 'a secret of more than thirty-two characters';
  const { send, db } = await testService(t, {
    AUTH: 'mtls, signature, basic, api-key, bearer',
    AUTH_FAILURES: '0',
    TLS_CERT: server.certFile,
    TLS_KEY: server.keyFile,
    TLS_CLIENT_CA: ca.certFile,
    ISSUER: issuer.url,
    AUDIENCE,
    BASIC_SCOPES: 'self users:write',
    SIGNING_SECRETS: JSON.stringify([{ id: 'one', secret, subject: 'signer', scopes: ['admin'] }]),
  });
  const ask = (headers: Record<string, string>, pair?: typeof alice) =>
    send('GET', '/whoami', {
      headers,
      tls: { ca: ca.cert, ...(pair && { cert: pair.cert, key: pair.key }) },
    });
  const callerOf = async (...args: Parameters<typeof ask>) => {
    const { status, json } = await ask(...args);
    return status === 200 ? `${json.scheme} ${json.subject}` : status;
  };

  const none = await ask({});
  t.equal(none.status, 401);
  t.match(
    none.headers['www-authenticate'],
    /^Bearer realm="plinth", error="invalid_token", .*resource_metadata="https:.*, ApiKey .*, Basic .*, HMAC-SHA256 .*, ClientCertificate /,
    'a challenge for each, Bearer first',
  );

  const { key: apiKey } = await makeKey(db, { subject: 'machine' });
  await makeKey(db, { subject: 'alice', certificate: alice.cert });
  const signed = signRequest('one', secret, 'GET', '/whoami', '');
  const token = await sign(key, claims(issuer.url));
  t.equal(await callerOf(bearer(token)), 'bearer ada');
  t.equal(await callerOf(bearer(apiKey)), 'api-key machine');
  t.equal(await callerOf({ 'x-api-key': apiKey }), 'api-key machine');
  t.equal(await callerOf(signed), 'signature signer');
  t.equal(await callerOf({}, alice), 'mtls alice');
  t.equal(await callerOf({}, bob), 401, 'an unregistered certificate');
  t.equal(
    await callerOf(bearer(token), alice),
    'bearer ada',
    'a credential in the request takes precedence over the certificate',
  );
  t.equal(await callerOf(bearer('nonsense'), alice), 401, 'also when it is invalid');
  t.equal(await callerOf({ ...bearer(token), 'x-api-key': apiKey }), 400);
  t.equal(await callerOf({ 'x-api-key': apiKey, ...signed }), 400);

  const password = 'a password over TLS';
  const created = await send('POST', '/users', {
    headers: { 'x-api-key': apiKey },
    body: { email: 'ada@example.org', name: 'Ada', password },
    tls: { ca: ca.cert },
  });
  t.equal(await callerOf(byPassword('ada@example.org', password)), `basic ${created.json.id}`);

  const fingerprint = new X509Certificate(alice.cert).fingerprint256.replaceAll(':', '');
  const thumbprint = Buffer.from(fingerprint, 'hex').toString('base64url');
  const bound = bearer(await sign(key, claims(issuer.url, { cnf: { 'x5t#S256': thumbprint } })));
  t.equal(await callerOf(bound), 401, 'a bound token without its certificate');
  t.equal(await callerOf(bound, bob), 401);
  t.equal(await callerOf(bound, alice), 'bearer ada');
  t.equal(await callerOf(bound, bob), 401, 'and when it is remembered');
});

t.test('without AUTH all requests are anonymous with the scope admin', async (t) => {
  const { send } = await testService(t);
  const { status, json } = await send('GET', '/whoami');
  t.equal(status, 200);
  t.same(json, { subject: 'anonymous', scopes: ['admin'], scheme: 'none', expires_at: null });
});
