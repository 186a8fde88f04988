import { clientSecret } from '../../config/config.js';
import type { Feature } from '../../feature.js';
import { withPackage } from '../../process/optional-package.js';
import { COMMANDS } from './commands.js';

/** The embedded authorization server. */
export default {
  open: async ({ config, db, log, auth, counters, collections }) => {
    const { Issuer } = await withPackage(import('./issuer.js'), 'AUTH_SERVER=on', 'oidc-provider');
    const issuer = await Issuer.open(config, db, log, auth, counters);
    const users = collections.find(({ resource }) => resource.hasPasswords)!;
    return { routes: ({ scopes }) => issuer.routes(scopes, users), close: () => issuer.close() };
  },
  describe: async ({ db }) => {
    const { clientRoutes } = await import('./client-routes.js');
    const { issuerRoutes } = await import('./routes.js');
    const handlers = { plain: cannotRun, limited: cannotRun };
    return {
      routes: ({ scopes }) => [
        ...clientRoutes(db, scopes),
        ...issuerRoutes(db, handlers, cannotRun, cannotRun),
      ],
    };
  },
  commands: {
    clients: {
      ...COMMANDS.clients,
      group: 'access',
      run: async (args, io) => (await import('./client-commands.js')).clientsCommand(args, io),
    },
    issuer: {
      ...COMMANDS.issuer,
      group: 'access',
      run: async (args, io) => (await import('./rotate-keys.js')).issuerCommand(args, io),
    },
    login: {
      ...COMMANDS.login,
      group: 'access',
      run: async (args, io) => (await import('./login.js')).loginCommand(args, io),
    },
    token: {
      ...COMMANDS.token,
      group: 'access',
      run: async (args, io) => (await import('./login.js')).tokenCommand(args, io, clientSecret(io.env)),
    },
  },
} satisfies Feature;

const cannotRun = (): never => {
  throw new Error('a route that is only described cannot run');
};
