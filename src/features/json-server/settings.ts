import { FeatureSettings } from '../../config/config.js';

export const JSON_SERVER_SETTINGS = new FeatureSettings({
  read: ({ read }) => ({
    /** Lists have the parameters and responses of json-server 0.17. */
    isJsonServer: read('COMPAT', false, '`json-server`', (text) =>
      text === 'json-server' ? true : undefined,
    ),
  }),
  isOn: ({ isJsonServer }) => isJsonServer,
  faults: ({ isJsonServer }, { databaseEngine }) =>
    isJsonServer && databaseEngine.isDistributed
      ? ['COMPAT=json-server cannot be combined with DATABASE_ENGINE=citus']
      : [],
  complete: ({ isJsonServer }) => ({ anyParameters: isJsonServer }),
});
