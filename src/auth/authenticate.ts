import { badRequest, unauthorized } from '../errors.js';
import type { Cell, Labelled } from '../observe/instruments.js';
import type { Principal } from '../principal.js';
import type { FailureLimit } from './failures.js';
import { type Presented, Refusal, type Scheme, type Sent } from './scheme.js';

export type Authenticate = (sent: Sent) => Promise<Principal>;

/**
 * One principal from whatever credential a request has. Throws 401 with a challenge for each scheme taken, 400
 * for two credentials or one in the query, 429 after too many that were no good. None at all is no failure.
 */
export function createAuthenticator(
  schemes: readonly Scheme[],
  failures: FailureLimit,
  counted?: Labelled<Cell>,
): Authenticate {
  const refuse = (presented: Presented, refusal: Refusal | undefined) =>
    unauthorized(
      refusal?.description ?? 'A credential is needed.',
      schemes.map((scheme) =>
        scheme.challenge(presented, scheme.name === refusal?.scheme ? refusal : undefined),
      ),
    );

  return async (sent) => {
    requireOneCredential(sent);
    const attempt = failures.begin(sent.address);
    const presented: Presented = { ...sent, admit: attempt.admit };
    try {
      const principal = await firstOf(schemes, presented);
      if (!principal) throw refuse(presented, undefined);
      attempt.pass();
      return principal;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      // The description is one of a few sentences of ours: it has nothing of the credential.
      if (counted) counted.of(error.scheme, error.description).value++;
      await attempt.fail(error.account);
      throw refuse(presented, error);
    }
  };
}

/** The principal of the first scheme that finds a credential of its own. */
function firstOf(
  schemes: readonly Scheme[],
  presented: Presented,
): Promise<Principal> | Principal | undefined {
  for (const scheme of schemes) {
    const found = scheme.authenticate(presented);
    if (found) return found;
  }
  return undefined;
}

/** RFC 6750 section 2.3 let tokens into the query, where they end up in logs; nothing takes them there. */
const IN_QUERY = /[?&](?:access_token|x[-_]?api[-_]?key|api[-_]?key)=|[?&][^&=]*=plinth_/i;

function requireOneCredential({ headers, target }: Sent): void {
  if (IN_QUERY.test(target)) throw badRequest('A credential does not belong into a query string.');
  const { authorization, 'x-api-key': key, 'x-signature': signature } = headers;
  const given = [authorization, key, signature].filter((field) => field !== undefined);
  if (given.length > 1) throw badRequest('A request has one credential.');
}
