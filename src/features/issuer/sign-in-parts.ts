import type { Provider } from 'oidc-provider';
import type { Config } from '../../config/config.js';
import type { Db } from '../../db/db.js';
import type { Auth, Collection } from '../../feature.js';
import type { Passkeys } from './passkeys.js';
import type { SecondFactors } from './second-factors.js';
import type { UpstreamSignIn } from './upstream-sign-in.js';

/** The parts with which users sign in, and change how they do. */
export interface SignInParts extends Pick<Auth, 'signIn' | 'throttle'> {
  readonly provider: Provider;
  readonly config: Config;
  readonly db: Db;
  readonly csrfSecret: string;
  readonly passkeys: Passkeys;
  /** Undefined: people sign in here only. */
  readonly upstreams: UpstreamSignIn | undefined;
  readonly secondFactors: SecondFactors;
  /** The users that sign in. */
  readonly users: Collection;
}
