import { hash } from 'node:crypto';
import { calculateJwkThumbprint, EmbeddedJWK, errors, type JWTPayload, jwtVerify } from 'jose';
import type { CheckReplay } from '../replay-guard.js';
import type { AuthRequest } from '../scheme.js';
import { PROOF_ALGORITHMS, refusal } from './access-token.js';

/** How far the time of a proof may be from now, and for how long its id is remembered. */
const WINDOW_S = 60;

const MAX_PROOF_CHARACTERS = 4096;

/**
 * Verifies that the request has a DPoP proof (RFC 9449 section 4.3) for this token by the key with the thumbprint
 * `proofKey`, and that the proof was not used before. `base` is the URL of the service. Rejects with CredentialRejected.
 */
export async function requireProof(
  request: AuthRequest,
  token: string,
  proofKey: string,
  base: string,
  checkReplay: CheckReplay,
): Promise<void> {
  const { dpop: proof } = request.headers;
  if (typeof proof !== 'string' || proof.length > MAX_PROOF_CHARACTERS)
    throw refusal('The access token needs one DPoP proof.');
  const { payload, thumbprint } = await verify(proof);
  const { htm, htu, ath, iat, jti } = payload;
  if (thumbprint !== proofKey) throw refusal('The DPoP proof is by another key.');
  if (htm !== request.method) throw refusal('The DPoP proof is for another method.');
  if (typeof htu !== 'string' || addressOf(htu) !== addressOf(base + pathOf(request.target)))
    throw refusal('The DPoP proof is for another address.');
  if (ath !== hash('sha256', token, 'base64url')) throw refusal('The DPoP proof is for another token.');
  if (typeof iat !== 'number' || Math.abs(Date.now() / 1000 - iat) > WINDOW_S)
    throw refusal('The DPoP proof is not recent.');
  if (typeof jti !== 'string' || jti === '') throw refusal('The DPoP proof has no jti.');
  const use = await checkReplay(`dpop\n${thumbprint}\n${jti}`, iat + 2 * WINDOW_S);
  if (use !== 'first') throw refusal('The DPoP proof has been used before.');
}

async function verify(proof: string): Promise<{ payload: JWTPayload; thumbprint: string }> {
  try {
    const { payload, protectedHeader } = await jwtVerify(proof, EmbeddedJWK, {
      algorithms: PROOF_ALGORITHMS,
      typ: 'dpop+jwt',
    });
    return { payload, thumbprint: await calculateJwkThumbprint(protectedHeader.jwk!) };
  } catch (error) {
    if (error instanceof errors.JOSEError || error instanceof TypeError || error instanceof DOMException)
      throw refusal('The DPoP proof is malformed or its signature is invalid.');
    throw error;
  }
}

/** The path of a request target, which may be in absolute-form. */
function pathOf(target: string): string {
  return target.startsWith('/') ? target : new URL(target).pathname;
}

/** A normalized URL without query and fragment (RFC 9449 section 4.3). */
function addressOf(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined;
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}
