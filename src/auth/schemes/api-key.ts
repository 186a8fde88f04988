import { API_KEY_PREFIX, hashOf, isKey } from '../credentials/api-key-format.js';
import type { CredentialCache } from '../credentials/credential-cache.js';
import { CredentialRejected, type Principal } from '../principal.js';
import { type AuthRequest, credentialsOf, quote, type Scheme } from '../scheme.js';

/** `X-API-Key: <key>`, or the key as a Bearer token, which its prefix distinguishes from access tokens. */
export function apiKey(realm: string, lookup: CredentialCache): Scheme {
  async function verify(key: string): Promise<Principal> {
    if (!isKey(key)) throw refusal('The API key is malformed.');
    const principal = await lookup.find('key', hashOf(key));
    if (!principal) throw refusal('The API key is unknown, expired or revoked.');
    return principal;
  }

  return {
    name: 'api-key',
    challenge: () => `ApiKey realm=${quote(realm)}, header="X-API-Key"`,
    authenticate: (request) => {
      const key = keyOf(request);
      return key === undefined ? undefined : verify(key);
    },
  };
}

function keyOf(request: AuthRequest): string | undefined {
  const field = request.headers['x-api-key'];
  if (field !== undefined) return String(field);
  const token = credentialsOf(request, 'bearer');
  return token?.startsWith(API_KEY_PREFIX) ? token : undefined;
}

const refusal = (description: string) => new CredentialRejected('api-key', description);
