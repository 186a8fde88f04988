import type { Principal } from '../../principal.js';
import type { CredentialCache } from '../credentials/credential-cache.js';
import { quote, Refusal, type Scheme } from '../scheme.js';

/**
 * The certificate that the client showed when it connected, which an authority of TLS_CLIENT_CA has signed, and
 * which is registered. A credential in the request itself goes before, also one that no scheme knows.
 */
export function mtls(realm: string, lookup: CredentialCache): Scheme {
  async function verify(certificate: string, expires = Number.POSITIVE_INFINITY): Promise<Principal> {
    const hash = Buffer.from(certificate, 'base64url').toString('base64');
    const principal = await lookup.find('certificate', hash);
    if (!principal) throw new Refusal('mtls', 'The certificate is not registered, or no longer.');
    // A certificate may expire before its grant does, and a response that goes on for long must not outlive either.
    return { ...principal, expiresAt: earlier(principal.expiresAt, expires / 1000) };
  }

  return {
    name: 'mtls',
    challenge: () => `ClientCertificate realm=${quote(realm)}`,
    authenticate: ({ certificate, certificateExpires, headers }) => {
      const explicit = headers.authorization ?? headers['x-api-key'] ?? headers['x-signature'];
      return certificate === undefined || explicit !== undefined
        ? undefined
        : verify(certificate, certificateExpires);
    },
    close: lookup.close,
  };
}

function earlier(one: number | undefined, other: number): number | undefined {
  const first = Math.min(one ?? Number.POSITIVE_INFINITY, other);
  return Number.isFinite(first) ? first : undefined;
}
