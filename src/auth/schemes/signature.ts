import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Config } from '../../config/config.js';
import { CredentialRejected, type Principal } from '../principal.js';
import type { CheckReplay } from '../replay-guard.js';
import { type AuthRequest, quote, type Scheme } from '../scheme.js';

/** How far a timestamp may differ from the server's clock. */
const WINDOW_S = 300;

/** One description for an unknown key id and a wrong signature, so that key ids cannot be guessed. */
const MISMATCH = 'The signature does not match the request.';

/**
 * A request signed with a shared secret: `X-Timestamp`, in seconds since 1970, and `X-Signature`, the base64 of an
 * HMAC-SHA256 over timestamp, method, target (path and query as sent) and body, joined by line feeds. Each signature is accepted
 * once. `X-Key-Id` names the secret; without it, each secret is tried.
 */
export function signature(config: Config, checkReplay: CheckReplay): Scheme {
  const secrets = config.signingSecrets.map(({ id, secret, subject, scopes }) => ({
    id,
    secret,
    subject,
    scopes: new Set(scopes),
  }));

  async function verify(request: AuthRequest, signature: string): Promise<Principal> {
    const { headers } = request;
    const timestamp = String(headers['x-timestamp'] ?? '');
    if (!/^\d{1,12}$/.test(timestamp)) throw refusal('X-Timestamp must be in seconds since 1970.');
    if (Math.abs(Number(timestamp) - Date.now() / 1000) > WINDOW_S)
      throw refusal('X-Timestamp is more than five minutes from now.');
    const expected = Buffer.from(signature, 'base64');
    if (expected.length !== 32) throw refusal('X-Signature must be the base64 of an HMAC-SHA256.');
    const id = headers['x-key-id'];
    const candidates = id === undefined ? secrets : secrets.filter((secret) => secret.id === id);
    // The body is read only if the signature can still match.
    if (candidates.length === 0) throw refusal(MISMATCH);
    const { method, target } = request;
    const body = await request.body();
    const signer = candidates.find(({ secret }) =>
      timingSafeEqual(macOf(secret, `${timestamp}\n${method}\n${target}\n`, body), expected),
    );
    if (!signer) throw refusal(MISMATCH);
    const { subject, scopes } = signer;
    const use = await checkReplay(`signature\n${expected.toString('base64')}`, Number(timestamp) + WINDOW_S);
    if (use === 'expired')
      throw refusal("X-Timestamp is more than five minutes before the database's clock.");
    if (use === 'repeated') throw refusal('The signature has been used before.');
    return { subject, scopes, scheme: 'signature', expiresAt: undefined };
  }

  return {
    name: 'signature',
    challenge: () => `HMAC-SHA256 realm=${quote(config.realm)}, headers="X-Timestamp X-Signature"`,
    authenticate: (request) => {
      const field = request.headers['x-signature'];
      return field === undefined ? undefined : verify(request, String(field));
    },
  };
}

/** The key is the secret in UTF-8. */
const macOf = (secret: string, head: string, body: Buffer): Buffer =>
  createHmac('sha256', secret).update(head).update(body).digest();

const refusal = (description: string) => new CredentialRejected('signature', description);
