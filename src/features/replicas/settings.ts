import { FeatureSettings } from '../../config/config.js';
import { databaseUrlOf } from '../../config/env-reader.js';

const NAME = 'DATABASE_READ_URL';

/** All replicas are used, so that no parameter selects one. */
const READ_BY_ALL = ['target_session_attrs'];

export const REPLICA_SETTINGS = new FeatureSettings({
  read: (reader) => ({
    /** The replicas that read; undefined: the primary does. */
    databaseReadUrl: databaseUrlOf(reader, NAME, READ_BY_ALL),
    /** How old what a replica shows may be. */
    readMaxAgeMs: 10_000,
  }),
  isOn: ({ databaseReadUrl }) => databaseReadUrl !== undefined,
  faults: ({ databaseReadUrl }, { databaseEngine }) =>
    databaseReadUrl !== undefined && databaseEngine.isDistributed
      ? [`${NAME} cannot be combined with DATABASE_ENGINE=citus`]
      : [],
});
