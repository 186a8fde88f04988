import type { CredentialCache } from '../credentials/credential-cache.js';
import { CredentialRejected, type Principal } from '../principal.js';
import { quote, type Scheme } from '../scheme.js';

/**
 * A registered client certificate, signed by an authority in TLS_CLIENT_CA. A credential in the request itself takes
 * precedence, even if no scheme accepts it.
 */
export function mtls(realm: string, lookup: CredentialCache): Scheme {
  async function verify(certificate: string, expires = Number.POSITIVE_INFINITY): Promise<Principal> {
    const hash = Buffer.from(certificate, 'base64url').toString('base64');
    const principal = await lookup.find('certificate', hash);
    if (!principal) throw new CredentialRejected('mtls', 'The certificate is unknown, expired or revoked.');
    // An event stream must outlive neither the certificate nor its registration.
    const expiresAt = Math.min(principal.expiresAt ?? Number.POSITIVE_INFINITY, expires / 1000);
    return { ...principal, expiresAt: Number.isFinite(expiresAt) ? expiresAt : undefined };
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
  };
}
