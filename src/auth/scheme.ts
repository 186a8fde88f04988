import type { IncomingHttpHeaders } from 'node:http';
import type { Admission } from '../limits/login-throttle.js';
import type { CredentialRejected, Principal, SchemeName } from './principal.js';

/** The parts of a request that can carry a credential, and those that signatures cover. */
export interface AuthRequest {
  readonly method: string;
  /** The request target as it was sent. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  /** The client's address, as far as trusted proxies report it. */
  readonly address: string;
  /** Whether the client's connection is encrypted, as far as trusted proxies report it. */
  readonly secure: boolean;
  /** Whether the client is on this machine and there is no proxy. */
  readonly loopback: boolean;
  /** SHA-256 of the client's certificate in DER, base64url (RFC 8705); undefined without a valid one. */
  readonly certificate: string | undefined;
  /** When that certificate expires, in milliseconds since 1970. */
  readonly certificateExpires?: number | undefined;
  /** The whole body; throws 413. */
  readonly body: () => Promise<Buffer>;
  /** Why the request needs a credential although its endpoint does not; absent: the endpoint needs one. */
  readonly reason?: string;
}

/** One way to authenticate. */
export interface Scheme {
  readonly name: SchemeName;
  /**
   * The value of WWW-Authenticate. `host` is the Host field, `secure` whether the request came over TLS, `refusal` the
   * reason if a credential of this scheme was refused.
   */
  readonly challenge: (
    host: string | undefined,
    secure: boolean,
    refusal: CredentialRejected | undefined,
  ) => string;
  /**
   * The principal; undefined when the request has no credential of this scheme. Rejects with CredentialRejected for an invalid
   * credential, with 503 when it cannot be verified now.
   */
  readonly authenticate: (request: AuthRequest, admission: Admission) => Promise<Principal> | undefined;
  /** The secret of a principal's credential, if only that confirms the credential later. It must be stored encrypted only. */
  readonly secretOf?: (principal: Principal) => string | undefined;
  /**
   * The present principal of a secret that `secretOf` returned. Rejects with CredentialRejected when the credential is no
   * longer valid, with 503 when that is unknown.
   */
  readonly restore?: (secret: string) => Promise<Principal>;
  readonly close?: () => Promise<void>;
}

/** Whether a request has a credential of any kind, valid or not. */
export function hasCredential({ headers, certificate }: AuthRequest): boolean {
  const { authorization, 'x-api-key': key, 'x-signature': signature } = headers;
  return (authorization ?? key ?? signature ?? certificate) !== undefined;
}

/** The credentials of an Authorization field (RFC 9110 section 11.4); undefined for another scheme. */
export function credentialsOf({ headers }: AuthRequest, scheme: string): string | undefined {
  const field = headers.authorization;
  if (field === undefined || field.length <= scheme.length) return undefined;
  if (field.slice(0, scheme.length).toLowerCase() !== scheme || field[scheme.length] !== ' ')
    return undefined;
  return field.slice(scheme.length + 1).trim();
}

/** A quoted-string (RFC 9110 section 5.6.4); other characters become `?`. */
export function quote(text: string): string {
  return `"${text.replace(/[^\x20-\x7e]/g, '?').replace(/["\\]/g, '\\$&')}"`;
}
