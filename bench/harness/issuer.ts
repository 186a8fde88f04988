import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';

export const AUDIENCE = 'https://bench.example';

export interface Issuer {
  readonly url: string;
  readonly algorithms: readonly string[];
  /** An access token that is valid for two hours and may read users. */
  token(algorithm: string): Promise<string>;
  close(): void;
}

/** An authorization server as far as a resource server sees one: its metadata and its keys. */
export async function startIssuer(): Promise<Issuer> {
  const algorithms = ['RS256', 'ES256', 'EdDSA'];
  const pairs = await Promise.all(algorithms.map((algorithm) => generateKeyPair(algorithm)));
  const keys = await Promise.all(
    pairs.map(async ({ publicKey }, n) => ({
      ...(await exportJWK(publicKey)),
      kid: algorithms[n],
      alg: algorithms[n],
      use: 'sig',
    })),
  );
  const server = http.createServer((req, res) => {
    const body = req.url === '/jwks' ? { keys } : { issuer: url, jwks_uri: `${url}/jwks` };
    res.setHeader('content-type', 'application/json').end(JSON.stringify(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    algorithms,
    token: (algorithm) =>
      new SignJWT({ scope: 'users:read', jti: randomBytes(8).toString('hex') })
        .setProtectedHeader({ alg: algorithm, kid: algorithm, typ: 'at+jwt' })
        .setIssuer(url)
        .setAudience(AUDIENCE)
        .setSubject('bench')
        .setIssuedAt()
        .setExpirationTime('2h')
        .sign(pairs[algorithms.indexOf(algorithm)]!.privateKey),
    close: () => server.close(),
  };
}
