import { badRequest, unauthorized } from '../errors.js';
import type { Attempt, LoginThrottle } from '../limits/login-throttle.js';
import type { Principal, SchemeName } from '../principal.js';
import type { Problem } from '../problem.js';
import type { CounterValue, LabelledMetric } from '../telemetry/instruments.js';
import { API_KEY_PREFIX } from './credentials/api-key-format.js';
import { type Presented, Refusal, type Scheme } from './scheme.js';

export type Authenticate = (presented: Presented) => Promise<Principal> | Principal;

/** A 401 and what it was made from: mostly the next one is the same, and its body is made. */
interface Refused {
  readonly message: string;
  readonly scheme: SchemeName | undefined;
  readonly host: string | undefined;
  readonly secure: boolean;
  readonly problem: Problem;
}

/**
 * One principal from whatever credential a request has, without a promise where it is known at once. Throws, or rejects
 * with, 401 with a challenge for each scheme taken, 400 for two credentials or one in the query, 429 after too many that
 * were no good. None at all is no failure.
 */
export function createAuthenticator(
  schemes: readonly Scheme[],
  failures: LoginThrottle,
  counted?: LabelledMetric<CounterValue>,
): Authenticate {
  let last: Refused | undefined;

  function refuse({ headers: { host }, secure }: Presented, refusal: Refusal | undefined): Problem {
    const message = refusal?.description ?? 'A credential is needed.';
    const scheme = refusal?.scheme;
    const isSame = last?.message === message && last.scheme === scheme && last.host === host;
    if (!last || !isSame || last.secure !== secure) {
      const challenges = schemes.map((each) =>
        each.challenge(host, secure, each.name === scheme ? refusal : undefined),
      );
      last = { message, scheme, host, secure, problem: unauthorized(message, challenges) };
    }
    return last.problem;
  }

  async function settle(
    presented: Presented,
    attempt: Attempt,
    found: Promise<Principal>,
  ): Promise<Principal> {
    try {
      const principal = await found;
      attempt.pass();
      return principal;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      // The description is one of a few sentences of ours: it has nothing of the credential.
      if (counted) counted.of(error.scheme, error.description).value++;
      await attempt.fail(error.account);
      throw refuse(presented, error);
    }
  }

  return (presented) => {
    requireOneCredential(presented);
    const attempt = failures.begin(presented.address);
    const found = firstOf(schemes, presented, attempt);
    if (found instanceof Promise) return settle(presented, attempt, found);
    if (!found) throw refuse(presented, undefined);
    // What was found at once has nothing to pass: no check ran meanwhile.
    return found;
  };
}

/** The principal of the first scheme that finds a credential of its own; what it throws comes as a promise. */
function firstOf(
  schemes: readonly Scheme[],
  presented: Presented,
  attempt: Attempt,
): Promise<Principal> | Principal | undefined {
  try {
    for (const scheme of schemes) {
      const found = scheme.authenticate(presented, attempt);
      if (found) return found;
    }
    return undefined;
  } catch (error) {
    return Promise.reject(error);
  }
}

/** Names of parameters that would carry a credential. RFC 6750 section 2.3 allowed tokens there; they end up in logs. */
const CREDENTIAL_NAME = /^(?:access_token|x[-_]?api[-_]?key|api[-_]?key)$/i;

function hasCredential(target: string): boolean {
  const [, ...parameters] = target.split(/[?&]/);
  return parameters.some((parameter) => {
    const equals = parameter.indexOf('=');
    if (equals < 0) return false;
    const isKey =
      parameter.slice(equals + 1, equals + 1 + API_KEY_PREFIX.length).toLowerCase() === API_KEY_PREFIX;
    return isKey || CREDENTIAL_NAME.test(parameter.slice(0, equals));
  });
}

function requireOneCredential({ headers, target }: Presented): void {
  if (target.includes('?') && hasCredential(target))
    throw badRequest('A credential does not belong into a query string.');
  const { authorization, 'x-api-key': key, 'x-signature': signature } = headers;
  const given =
    Number(authorization !== undefined) + Number(key !== undefined) + Number(signature !== undefined);
  if (given > 1) throw badRequest('A request has one credential.');
}
