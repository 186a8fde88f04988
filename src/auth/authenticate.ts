import { unauthorized } from '../errors/caller-errors.js';
import type { Problem } from '../errors/problem.js';
import { badRequest } from '../errors/request-errors.js';
import type { LoginThrottle } from '../limits/login-throttle.js';
import type { CounterValue, LabelledMetric } from '../telemetry/instruments.js';
import { API_KEY_PREFIX } from './credentials/api-key-format.js';
import { CredentialRejected, type Principal, type SchemeName } from './principal.js';
import type { AuthRequest, Scheme } from './scheme.js';

export type Authenticate = (request: AuthRequest) => Promise<Principal>;

/** The user whose session a field Cookie names; undefined: there is none, or it has ended. */
export type FindSession = (cookie: string | undefined) => Promise<Principal | undefined> | undefined;

/**
 * Returns the function that authenticates a request by its one credential. It rejects with 401 with a challenge for each
 * scheme, 400 for two credentials or one in the query string, and 429 after too many failures. A request without a
 * credential is no failure, nor is one with a token that has ended.
 */
export function createAuthenticator(
  schemes: readonly Scheme[],
  throttle: LoginThrottle,
  failures?: LabelledMetric<CounterValue>,
): Authenticate {
  function challenge(request: AuthRequest, refusal: CredentialRejected | undefined): Problem {
    const { headers, secure } = request;
    const challenges = schemes.map((scheme) =>
      scheme.challenge(headers.host, secure, scheme.name === refusal?.scheme ? refusal : undefined),
    );
    return unauthorized(refusal?.description ?? missing(request, schemes), challenges);
  }

  return async (request) => {
    requireOneCredential(request);
    const attempt = throttle.begin(request.address);
    try {
      for (const scheme of schemes) {
        const found = scheme.authenticate(request, attempt);
        if (!found) continue;
        const principal = await found;
        attempt.pass();
        return principal;
      }
    } catch (error) {
      if (!(error instanceof CredentialRejected)) throw error;
      // Descriptions are few and contain no part of a credential, so they can be labels.
      if (failures) failures.of(error.scheme, error.description).value++;
      if (error.isGuess) await attempt.fail(error.account);
      else attempt.pass();
      throw challenge(request, error);
    }
    throw challenge(request, undefined);
  };
}

/** Where a request has the credential of each scheme. */
const CARRIERS: Readonly<Record<SchemeName, string>> = {
  bearer: 'Authorization: Bearer',
  basic: 'Authorization: Basic',
  'api-key': 'X-API-Key',
  signature: 'X-Signature',
  mtls: 'a client certificate',
};

/** Why a request without a credential of an enabled scheme is refused. It contains no part of a credential. */
function missing({ headers, reason }: AuthRequest, schemes: readonly Scheme[]): string {
  const accepted = schemes.map(({ name }) => CARRIERS[name]);
  const sent = carrierOf(headers);
  return sent === undefined || accepted.includes(sent)
    ? (reason ?? 'The request needs a credential.')
    : `The request has a credential in ${sent}, which this service does not accept. It accepts: ${accepted.join(', ')}.`;
}

/** The place of the credential in a request. Of an unknown scheme it is the field alone, since a name may be the secret. */
function carrierOf({ authorization, ...headers }: AuthRequest['headers']): string | undefined {
  if (headers['x-api-key'] !== undefined) return CARRIERS['api-key'];
  if (headers['x-signature'] !== undefined) return CARRIERS.signature;
  if (authorization === undefined) return undefined;
  const [, scheme] = /^(basic|bearer)(?: |$)/i.exec(authorization) ?? [];
  return scheme === undefined ? 'Authorization' : CARRIERS[scheme.toLowerCase() as SchemeName];
}

/** Names of parameters that may carry a credential, which would end up in logs (RFC 6750 section 5.3). */
const CREDENTIAL_NAME = /^(?:access_token|x[-_]?api[-_]?key|api[-_]?key)$/i;

function requireOneCredential({ headers, target }: AuthRequest): void {
  if (target.includes('?') && hasCredential(target))
    throw badRequest('Credentials in the query string are not accepted.');
  const { authorization, 'x-api-key': key, 'x-signature': signature } = headers;
  const count =
    Number(authorization !== undefined) + Number(key !== undefined) + Number(signature !== undefined);
  if (count > 1) throw badRequest('A request must not have more than one credential.');
}

function hasCredential(target: string): boolean {
  const [, ...parameters] = target.split(/[?&]/);
  return parameters.some((parameter) => {
    const equals = parameter.indexOf('=');
    if (equals < 0) return false;
    const isKey = parameter
      .slice(equals + 1)
      .toLowerCase()
      .startsWith(API_KEY_PREFIX);
    return isKey || CREDENTIAL_NAME.test(parameter.slice(0, equals));
  });
}
