import type { Feature } from '../../feature.js';
import { COMMANDS } from './commands.js';
import type { UserAccountServices } from './user-accounts.js';

/** The accounts of the users that sign in, for operators. */
export default {
  endpoints: async () => (await import('./user-accounts.js')).ACCOUNTS,
  open: ({ db, scopes }) => ({ services: () => ({ db, scopes }) }),
  commands: {
    users: {
      ...COMMANDS.users,
      group: 'access',
      run: async (args, io) => (await import('./users-command.js')).usersCommand(args, io),
    },
  },
} satisfies Feature<UserAccountServices>;
