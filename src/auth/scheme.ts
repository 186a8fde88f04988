import type { IncomingHttpHeaders } from 'node:http';
import type { Admission } from '../limits/login-throttle.js';
import type { Principal, SchemeName } from '../principal.js';

/** What of a request may carry a credential. */
export interface Presented {
  readonly method: string;
  /** The request target as it was sent. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  /** The client's address, as far as trusted proxies tell. */
  readonly address: string;
  /** Whether the client's connection is encrypted, as far as trusted proxies tell. */
  readonly secure: boolean;
  /** Whether the client is on this machine and no proxy is between. */
  readonly loopback: boolean;
  /** SHA-256 of the client's certificate in DER, base64url (RFC 8705); undefined when it showed none that is good. */
  readonly certificate: string | undefined;
  /** When that certificate expires, in milliseconds since 1970. */
  readonly certificateExpires?: number | undefined;
  /** The whole body; throws 413. */
  readonly body: () => Promise<Buffer>;
}

/** One kind of credential. */
export interface Scheme {
  readonly name: SchemeName;
  /**
   * The value of WWW-Authenticate for a request to `host`, as its field says, and over TLS or not. `refusal`: what was
   * wrong with a credential of this scheme.
   */
  readonly challenge: (host: string | undefined, secure: boolean, refusal: Refusal | undefined) => string;
  /**
   * The principal; undefined when the request has no credential of this scheme. Throws a Refusal for one that is
   * no good, 503 when that cannot be told now.
   */
  readonly authenticate: (
    presented: Presented,
    admission: Admission,
  ) => Promise<Principal> | Principal | undefined;
  /**
   * What the credential behind a principal of this scheme stands for now, where only the scheme can find out;
   * undefined: it cannot. Rejects with a Refusal when the credential is no longer valid, with 503 when that is unknown.
   */
  readonly recheck?: (principal: Principal) => Promise<Principal> | Principal | undefined;
  readonly close?: () => Promise<void>;
}

/** A credential that is no good: a 401. The description never has any part of the credential. */
export class Refusal {
  constructor(
    readonly scheme: SchemeName,
    readonly description: string,
    /** Whose credential it claimed to be, for the limit of failures. */
    readonly account?: string,
  ) {}
}

/** The credentials of an Authorization field (RFC 9110 section 11.4); undefined for another scheme. */
export function credentialsOf({ headers }: Presented, scheme: string): string | undefined {
  const field = headers.authorization;
  if (field === undefined || field.length <= scheme.length) return undefined;
  if (field.slice(0, scheme.length).toLowerCase() !== scheme || field[scheme.length] !== ' ')
    return undefined;
  return field.slice(scheme.length + 1).trim();
}

/** A quoted-string of what may stand in one (RFC 9110 section 5.6.4). */
export function quote(text: string): string {
  return `"${text.replace(/[^\x20-\x7e]/g, '?').replace(/["\\]/g, '\\$&')}"`;
}
