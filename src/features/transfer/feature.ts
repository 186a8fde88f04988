import type { Feature } from '../../feature.js';
import { COMMANDS } from './commands.js';

/** Import and export of records. */
export default {
  commands: {
    import: {
      ...COMMANDS.import,
      group: 'records',
      run: async (args, io) => (await import('./import-command.js')).importCommand(args, io),
    },
    export: {
      ...COMMANDS.export,
      group: 'records',
      run: async (args, io) => (await import('./export-command.js')).exportCommand(args, io),
    },
  },
} satisfies Feature;
