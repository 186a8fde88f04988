import type { Config } from '../../config/config.js';
import type { Admission } from '../../limits/login-throttle.js';
import type { SignIn } from '../accounts.js';
import { CredentialRejected, type Principal } from '../principal.js';
import { type AuthRequest, credentialsOf, quote, type Scheme } from '../scheme.js';
import { withOneFactor } from '../user-scopes.js';

const HAS_APP = 'The user has an authenticator app, so that the password alone is not enough: use a token.';

/** The email and password of a user (RFC 7617), over TLS only. */
export function basic(config: Config, signIn: SignIn): Scheme {
  const permitted = withOneFactor(config, config.basicScopes);

  async function verify(request: AuthRequest, admission: Admission, credentials: string): Promise<Principal> {
    if (!request.secure && !(config.insecure.includes('basic') && request.loopback))
      throw refusal('Basic credentials are accepted over TLS only.');
    const { email, password } = read(credentials);
    const user = await signIn(email, password, admission);
    if (user.userId === undefined) throw refusal('The email or the password is wrong.', user.account);
    if (user.hasTotp) throw new CredentialRejected('basic', HAS_APP, undefined, false);
    return {
      subject: user.userId,
      ...permitted,
      scheme: 'basic',
      expiresAt: undefined,
      credential: user.credential,
      passwordVersion: user.passwordVersion,
    };
  }

  return {
    name: 'basic',
    challenge: () => `Basic realm=${quote(config.realm)}, charset="UTF-8"`,
    authenticate: (request, admission) => {
      const credentials = credentialsOf(request, 'basic');
      return credentials === undefined ? undefined : verify(request, admission, credentials);
    },
  };
}

const refusal = (description: string, account?: string) =>
  new CredentialRejected('basic', description, account);

function read(credentials: string): { email: string; password: string } {
  const text = Buffer.from(credentials, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  if (colon < 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(credentials))
    throw refusal('Basic credentials are the base64 of an email, a colon and a password.');
  return { email: text.slice(0, colon), password: text.slice(colon + 1) };
}
