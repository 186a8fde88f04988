import { badRequest, unauthorized } from '../errors.js';
import type { Principal } from '../principal.js';
import type { FailureLimit } from './failures.js';
import { type Presented, Refusal, type Scheme } from './scheme.js';

export type Authenticate = (presented: Omit<Presented, 'admit'>) => Promise<Principal>;

/**
 * One principal from whatever credential a request has. Throws 401 with a challenge for each scheme taken, 400
 * for two credentials or one in the query, 429 after too many that were no good.
 */
export function createAuthenticator(schemes: readonly Scheme[], failures: FailureLimit): Authenticate {
  const refuse = (presented: Presented, refusal: Refusal | undefined) =>
    unauthorized(
      refusal?.description ?? 'A credential is needed.',
      schemes.map((scheme) =>
        scheme.challenge(presented, scheme.name === refusal?.scheme ? refusal : undefined),
      ),
    );

  return async (request) => {
    const presented: Presented = { ...request, admit: failures.admit };
    requireOneCredential(presented);
    await failures.admit(presented.address);
    try {
      for (const scheme of schemes) {
        const found = scheme.authenticate(presented);
        if (found) return await found;
      }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      await failures.count(presented.address, error.account);
      throw refuse(presented, error);
    }
    throw refuse(presented, undefined);
  };
}

/** RFC 6750 section 2.3 let tokens into the query, where they end up in logs; nothing takes them there. */
const IN_QUERY = /[?&](?:access_token|x[-_]?api[-_]?key|api[-_]?key)=|[?&][^&=]*=plinth_/i;

function requireOneCredential({ headers, target }: Presented): void {
  if (IN_QUERY.test(target)) throw badRequest('A credential does not belong into a query string.');
  const { authorization, 'x-api-key': key, 'x-signature': signature } = headers;
  const given = [authorization, key, signature].filter((field) => field !== undefined);
  if (given.length > 1) throw badRequest('A request has one credential.');
}
