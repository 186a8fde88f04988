import type { Config } from '../config.js';
import type { Db } from '../db/connect.js';
import type { Problem } from '../errors.js';
import type { Log } from '../log.js';
import type { SchemeName } from '../principal.js';
import { apiKey } from './api-key.js';
import { type Authenticate, createAuthenticator } from './authenticate.js';
import { failureLimit } from './failures.js';
import { type Lookup, openLookup } from './lookup.js';
import { mtls } from './mtls.js';
import { quote, type Scheme } from './scheme.js';
import { signature } from './signature.js';

export interface Auth {
  /** Undefined: nobody has to show a credential. */
  readonly authenticate: Authenticate | undefined;
  /** The fields that go with a 403 (RFC 6750 section 3.1). */
  readonly challenge: (problem: Problem) => readonly string[];
  /** Where keys and certificates are looked up; undefined when neither is taken. */
  readonly lookup: Lookup | undefined;
  readonly close: () => Promise<void>;
}

/** The order of the challenges in a 401, and in which a request is looked through. */
const ORDER: readonly SchemeName[] = ['bearer', 'api-key', 'basic', 'signature', 'mtls'];

/** Opens the schemes that the configuration names. */
export function openAuth(config: Config, db: Db, log: Log): Auth {
  const lookup = config.auth.some((name) => name === 'api-key' || name === 'mtls')
    ? openLookup(db, log)
    : undefined;
  const open: Partial<Record<SchemeName, () => Scheme>> = {
    'api-key': () => apiKey(config.realm, lookup!),
    signature: () => signature(config, db),
    mtls: () => mtls(config.realm, lookup!),
  };
  const schemes = ORDER.filter((name) => config.auth.includes(name)).map((name) => open[name]!());
  return {
    authenticate:
      schemes.length > 0 ? createAuthenticator(schemes, failureLimit(config.authFailures)) : undefined,
    challenge: ({ more }) => {
      if (!config.auth.includes('bearer')) return [];
      const { scope } = more.details as { scope: string };
      return [
        'WWW-Authenticate',
        `Bearer realm=${quote(config.realm)}, error="insufficient_scope", scope=${quote(scope)}`,
      ];
    },
    lookup,
    close: async () => {
      await Promise.all(schemes.map((scheme) => scheme.close?.()));
    },
  };
}
