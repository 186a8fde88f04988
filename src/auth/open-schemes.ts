import type { Config } from '../config/config.js';
import type { Db } from '../db/db.js';
import { FAILURE_WINDOW_S, LoginThrottle } from '../limits/login-throttle.js';
import type { OpenCounts } from '../limits/shared-counters.js';
import type { CounterValue, LabelledMetric } from '../telemetry/instruments.js';
import type { Log } from '../telemetry/log.js';
import { AccountProtection, PasswordCheck, passwordSignIn } from './accounts.js';
import { createAuthenticator, type FindSession } from './authenticate.js';
import { CredentialCache } from './credentials/credential-cache.js';
import { CredentialWatch } from './credentials/credential-watch.js';
import type { SchemeName } from './principal.js';
import { createReplayGuard } from './replay-guard.js';
import { quote, type Scheme } from './scheme.js';
import { apiKey } from './schemes/api-key.js';
import { basic } from './schemes/basic.js';
import { mtls } from './schemes/mtls.js';
import { signature } from './schemes/signature.js';
import type { TokenSource, UserOfToken } from './tokens/access-token.js';

/** The tokens of this service, as the embedded authorization server issues them. */
export interface OwnTokenSource extends TokenSource {
  close(): Promise<void>;
}

/** The credentials that the embedded authorization server gives to its users. */
export interface OwnCredentials {
  readonly tokens: OwnTokenSource;
  readonly session: FindSession;
}

export type Auth = Awaited<ReturnType<typeof openAuth>>;

/** The order of the challenges in a 401, and in which schemes look for their credential. */
const ORDER: readonly SchemeName[] = ['bearer', 'api-key', 'basic', 'signature', 'mtls'];

/**
 * Opens the configured schemes. `callers`: further collections whose records are callers, besides the one that people sign
 * in with. With `counts`, failures are counted for all processes. `own`: the credentials of the
 * embedded authorization server. `userOf`: the users of tokens of other issuers.
 */
export async function openAuth(
  config: Config,
  db: Db,
  log: Log,
  failures: LabelledMetric<CounterValue>,
  callers: readonly string[],
  counts?: OpenCounts,
  own?: OwnCredentials,
  userOf?: UserOfToken,
) {
  const lookup = config.auth.some((name) => name === 'api-key' || name === 'mtls')
    ? new CredentialCache(db)
    : undefined;
  const checkReplay = createReplayGuard(db);
  const passwords = new PasswordCheck();
  const signIn = passwordSignIn(db, log, passwords);
  const open: Record<SchemeName, () => Scheme | Promise<Scheme>> = {
    bearer: async () =>
      new (await import('./schemes/bearer.js')).Bearer(
        config,
        checkReplay,
        log,
        undefined,
        own?.tokens,
        userOf,
      ),
    'api-key': () => apiKey(config.realm, lookup!),
    basic: () => basic(config, signIn),
    signature: () => signature(config, checkReplay),
    mtls: () => mtls(config.realm, lookup!),
  };
  const names = ORDER.filter((name) => config.auth.includes(name));
  const schemes = await Promise.all(names.map((name) => open[name]()));
  const credentials = new CredentialWatch(db, log, schemes, config.eventsCredentialMs, callers);
  const throttle = new LoginThrottle(config.authFailures, counts?.('failures', FAILURE_WINDOW_S));
  return {
    /** Undefined: requests need no credential. */
    authenticate: schemes.length > 0 ? createAuthenticator(schemes, throttle, failures) : undefined,
    /** The header fields of a 403 (RFC 6750 section 3.1). */
    challenge: (scope: string): readonly string[] =>
      config.auth.includes('bearer')
        ? [
            'WWW-Authenticate',
            `Bearer realm=${quote(config.realm)}, error="insufficient_scope", scope=${quote(scope)}`,
          ]
        : [],
    /** Undefined when neither API keys nor certificates are accepted. */
    lookup,
    /** Watches the credentials of event streams. */
    credentials,
    /** The tokens of the embedded authorization server; undefined without it. */
    own: own?.tokens,
    signIn,
    throttle,
    checkReplay,
    accounts: new AccountProtection(db, passwords, throttle),
    /** Users that have signed in in a browser; undefined without the embedded authorization server. */
    session: own?.session,
    close: async () => {
      credentials.close();
      await Promise.all([own?.tokens.close(), ...schemes.map((scheme) => scheme.close?.())]);
    },
  };
}
