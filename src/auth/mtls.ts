import type { Principal } from '../principal.js';
import type { Lookup } from './lookup.js';
import { quote, Refusal, type Scheme } from './scheme.js';

/**
 * The certificate that the client showed when it connected, which an authority of TLS_CLIENT_CA has signed, and
 * which is registered. A credential in the request itself goes before, also one that no scheme knows.
 */
export function mtls(realm: string, lookup: Lookup): Scheme {
  async function verify(certificate: string): Promise<Principal> {
    const hash = Buffer.from(certificate, 'base64url').toString('base64');
    const principal = await lookup.find('certificate', hash);
    if (!principal) throw new Refusal('mtls', 'The certificate is not registered, or no longer.');
    return principal;
  }

  return {
    name: 'mtls',
    challenge: () => `ClientCertificate realm=${quote(realm)}`,
    authenticate: ({ certificate, headers }) => {
      const explicit = headers.authorization ?? headers['x-api-key'] ?? headers['x-signature'];
      return certificate === undefined || explicit !== undefined ? undefined : verify(certificate);
    },
    close: lookup.close,
  };
}
