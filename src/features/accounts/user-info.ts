import type { Claims } from '../../auth/tokens/access-token.js';
import { discover, objectIn, RemoteError, requestJson } from '../../auth/tokens/issuer-client.js';
import type { Log } from '../../telemetry/log.js';

/** For the metadata of the issuer and the response of its endpoint together. */
const TIMEOUT_MS = 5000;

/**
 * The claims about a subject that an issuer shows to the holder of a token (OpenID Connect Core section 5.3); none if it does not, which
 * is logged. `token`: as it was sent.
 */
export async function userInfo(issuer: string, subject: string, token: string, log: Log): Promise<Claims> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const uri = await discover(issuer, 'userinfo_endpoint', signal);
    const { json } = await requestJson(uri, signal, { headers: { Authorization: `Bearer ${token}` } });
    const claims = objectIn(json);
    // Section 5.3.2: claims of another subject must not be used.
    return claims?.sub === subject ? claims : {};
  } catch (err) {
    if (!(err instanceof RemoteError)) throw err;
    log.warn({ err, issuer }, 'the issuer does not say who a user is');
    return {};
  }
}
