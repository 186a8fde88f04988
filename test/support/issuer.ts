import { KeyObject, sign as signBytes } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';
import { CredentialRejected } from '../../src/auth/principal.js';
import type { AuthRequest } from '../../src/auth/scheme.js';
import { Bearer } from '../../src/auth/schemes/bearer.js';
import { readConfig } from '../../src/config/config.js';
import { Problem } from '../../src/errors/problem.js';
import { claimPort } from './claimed-port.js';
import { shownLog } from './shown-log.js';
import type { Test } from './test.js';

export const AUDIENCE = 'https://api.example.org';

export interface SigningKey {
  readonly kid: string;
  readonly alg: 'RS256' | 'ES256' | 'PS256' | 'EdDSA';
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
  /** Public. */
  readonly jwk: JWK;
}

export async function signingKey(kid: string, alg: SigningKey['alg'] = 'ES256'): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, publicKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
}

type Handler = (req: http.IncomingMessage, res: http.ServerResponse) => void;

/** An authorization server whose responses a test chooses. */
export interface TestIssuer {
  readonly url: string;
  /** The responses by path; other paths are 404. */
  readonly paths: Map<string, Handler>;
  /** The paths of all requests. */
  readonly requests: string[];
  /** Publishes these keys, and no others. */
  readonly publish: (...keys: SigningKey[]) => void;
  /** Stops listening, or listens again on the same port. */
  readonly leave: () => Promise<void>;
  readonly comeBack: () => Promise<void>;
}

export const METADATA = '/.well-known/oauth-authorization-server';

export const json =
  (value: unknown, status = 200): Handler =>
  (_req, res) =>
    res.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));

/** An issuer on a port of its own, with metadata by RFC 8414. */
export async function testIssuer(t: Test, ...keys: SigningKey[]): Promise<TestIssuer> {
  const paths = new Map<string, Handler>();
  const requests: string[] = [];
  const server = http.createServer((req, res) => {
    requests.push(req.url!);
    (paths.get(req.url!) ?? json({}, 404))(req, res);
  });
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  const leave = async () => {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
  const port = await listen(await claimPort(t));
  t.teardown(() => (server.listening ? leave() : undefined));
  const url = `http://127.0.0.1:${port}`;
  const publish = (...keys: SigningKey[]) => paths.set('/jwks', json({ keys: keys.map(({ jwk }) => jwk) }));
  paths.set(METADATA, json({ issuer: url, jwks_uri: `${url}/jwks` }));
  publish(...keys);
  const comeBack = async () => void (await listen(port));
  return { url, paths, requests, publish, leave, comeBack };
}

/** Valid claims. Those in `more` replace them; undefined ones are left out. */
export function claims(issuer: string, more: Record<string, unknown> = {}): JWTPayload {
  const now = Math.floor(Date.now() / 1000);
  return {
    iss: issuer,
    aud: AUDIENCE,
    sub: 'ada',
    iat: now,
    exp: now + 600,
    scope: 'items:read items:write',
    ...more,
  };
}

/** A token signed with `key`; members of `header` replace those that match the key. */
export function sign(key: SigningKey, payload: JWTPayload, header: object = {}): Promise<string> {
  return new SignJWT(payload)
    .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: 'at+jwt', ...header })
    .sign(key.privateKey);
}

/** 'valid', the description of a rejected credential, or the status of a problem. */
export const outcomeOf = (work: Promise<unknown>): Promise<string | number> =>
  work.then(
    () => 'valid',
    (error: unknown) => {
      if (error instanceof CredentialRejected) return error.description;
      return error instanceof Problem ? error.status : String(error);
    },
  );

/** The scheme of tokens alone, with a clock that a test moves and no database. */
export function bearerOf(t: Test, clock: { ms: number }, env: Record<string, string>, timeoutMs = 5000) {
  const config = readConfig({ LOG_LEVEL: 'silent', ...env });
  const scheme = new Bearer(config, () => Promise.resolve('first'), shownLog(t), timeoutMs);
  t.teardown(() => scheme.close?.());
  const use = async (token: string) => {
    const headers = { authorization: `Bearer ${token}`, host: 'localhost' };
    return scheme.authenticate({ headers } as AuthRequest);
  };
  return { clock, use };
}

/** A token of the given parts. */
export function assemble(header: object, payload: object, signature: string): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part(header)}.${part(payload)}.${signature}`;
}

/** A token with any header and a valid signature by ES256. */
export function signAsIs({ privateKey }: SigningKey, header: object, payload: object): string {
  const unsigned = assemble(header, payload, '');
  const key = KeyObject.from(privateKey);
  const signature = signBytes('sha256', Buffer.from(unsigned.slice(0, -1)), {
    key,
    dsaEncoding: 'ieee-p1363',
  });
  return unsigned + signature.toString('base64url');
}
