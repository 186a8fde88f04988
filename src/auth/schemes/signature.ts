import { timingSafeEqual } from 'node:crypto';
import type { Config } from '../../config/config.js';
import type { Principal } from '../../principal.js';
import type { TakeOnce } from '../replay-guard.js';
import { requestMac } from '../request-signature.js';
import { type Presented, quote, Refusal, type Scheme } from '../scheme.js';

/** How far a timestamp may be from the server's clock, in seconds. */
const WINDOW = 300;

/** The same for an unknown key id and a wrong signature, so that key ids cannot be guessed one by one. */
const MISMATCH = 'The signature does not fit the request.';

/**
 * A request signed with a shared secret: `X-Timestamp` in seconds since 1970, and `X-Signature`, the base64 of
 * HMAC-SHA256 over timestamp, method, target and body as they are sent, joined by line feeds. Each is taken once.
 * `X-Key-Id` names the secret; without it each is tried.
 */
export function signature(config: Config, takeOnce: TakeOnce): Scheme {
  const secrets = config.signingSecrets.map(({ id, secret, subject, scopes }) => ({
    id,
    secret,
    subject,
    scopes: new Set(scopes),
  }));

  async function verify(presented: Presented, given: string): Promise<Principal> {
    const { headers } = presented;
    const timestamp = String(headers['x-timestamp'] ?? '');
    if (!/^\d{1,12}$/.test(timestamp)) throw refusal('X-Timestamp takes seconds since 1970.');
    if (Math.abs(Number(timestamp) - Date.now() / 1000) > WINDOW)
      throw refusal('X-Timestamp is more than five minutes from now.');
    const wanted = Buffer.from(given, 'base64');
    if (wanted.length !== 32) throw refusal('X-Signature takes the base64 of an HMAC-SHA256.');
    const id = headers['x-key-id'];
    const candidates = id === undefined ? secrets : secrets.filter((secret) => secret.id === id);
    // Only a body that can still turn out to be signed is read.
    if (candidates.length === 0) throw refusal(MISMATCH);
    const { method, target } = presented;
    const body = await presented.body();
    const signer = candidates.find(({ secret }) =>
      timingSafeEqual(requestMac(secret, timestamp, method, target, body), wanted),
    );
    if (!signer) throw refusal(MISMATCH);
    const { subject, scopes } = signer;
    const use = await takeOnce(`signature\n${wanted.toString('base64')}`, Number(timestamp) + WINDOW);
    if (use === 'expired')
      throw refusal("X-Timestamp is more than five minutes before the database's clock.");
    if (use === 'repeated') throw refusal('The signature has been used before.');
    return { subject, scopes, scheme: 'signature', expiresAt: undefined };
  }

  return {
    name: 'signature',
    challenge: () => `HMAC-SHA256 realm=${quote(config.realm)}, headers="X-Timestamp X-Signature"`,
    authenticate: (presented) => {
      const given = presented.headers['x-signature'];
      return given === undefined ? undefined : verify(presented, String(given));
    },
  };
}

const refusal = (description: string) => new Refusal('signature', description);
