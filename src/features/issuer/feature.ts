import { clientSecret } from '../../config/config.js';
import type { Feature } from '../../feature.js';
import { COMMANDS } from './commands.js';

/** The embedded authorization server. */
export default {
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
