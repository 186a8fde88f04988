import type { Config } from '../../config/config.js';
import type { Db } from '../../db/db.js';
import type { Auth, Collection } from '../../feature.js';
import type { Passkeys } from './passkeys.js';
import type { SecondFactors } from './second-factors.js';
import type { UpstreamSignIn } from './upstream-sign-in.js';

/** The parts that the pages need besides the provider. */
export interface InteractionParts {
  readonly config: Config;
  readonly db: Db;
  readonly signIn: Auth['signIn'];
  readonly throttle: Auth['throttle'];
  readonly csrfSecret: string;
  readonly passkeys: Passkeys;
  /** Undefined: people sign in here only. */
  readonly upstreams: UpstreamSignIn | undefined;
  readonly secondFactors: SecondFactors;
}

/** The parts with which users change how they sign in. */
export interface AccountParts extends InteractionParts {
  /** The users that sign in. */
  readonly users: Collection;
}
