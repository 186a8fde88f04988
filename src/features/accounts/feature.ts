import { ConfigError } from '../../config/config.js';
import { typesIn } from '../../errors/catalogue.js';
import type { Feature } from '../../feature.js';
import { ACCOUNTS_SETTINGS } from './settings.js';

/** Users of other issuers. */
export default {
  errors: async () => typesIn(await import('./errors.js')),
  openUsersOfTokens: async ({ config, db, log }, users) => {
    const { IssuerUsers } = await import('./issuer-users.js');
    const found = new IssuerUsers(db, log, ACCOUNTS_SETTINGS.of(config), users);
    return (...token) => found.identify(...token);
  },
  open: ({ config, collections }) => {
    const { properties } = collections.find(({ resource }) => resource.hasPasswords)!.resource.schema;
    const fields = [...(ACCOUNTS_SETTINGS.of(config).userClaims?.keys() ?? [])];
    const unknown = fields.filter((field) => !Object.hasOwn(properties, field));
    if (unknown.length > 0)
      throw new ConfigError([`USER_CLAIMS names fields that users do not declare: ${unknown.join(', ')}`]);
    return {};
  },
} satisfies Feature;
