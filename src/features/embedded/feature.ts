import type { Feature } from '../../feature.js';
import { COMMANDS } from './commands.js';

/** A PostgreSQL of the service's own. */
export default {
  commands: {
    backup: {
      ...COMMANDS.backup,
      group: 'copies',
      run: async (args, io) => (await import('./backup-commands.js')).backupCommand(args, io),
    },
    restore: {
      ...COMMANDS.restore,
      group: 'copies',
      run: async (args, io) => (await import('./backup-commands.js')).restoreCommand(args, io),
    },
  },
} satisfies Feature;
