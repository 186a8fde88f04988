import type { Feature } from '../../feature.js';
import { COMMANDS } from './commands.js';
import type { AccessServices } from './explain.js';

/** Explains and tests access rules. */
export default {
  endpoints: async () => (await import('./endpoints.js')).ENDPOINTS,
  open: ({ db, collections }) => ({ services: () => ({ db, collections }) }),
  commands: {
    access: {
      ...COMMANDS.access,
      group: 'access',
      run: async (args, io) => (await import('./access-command.js')).accessCommand(args, io),
    },
  },
} satisfies Feature<AccessServices>;
