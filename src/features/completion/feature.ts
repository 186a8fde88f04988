import type { Feature } from '../../feature.js';
import { COMMANDS } from './commands.js';

/** Completion of commands in shells. */
export default {
  commands: {
    completion: {
      ...COMMANDS.completion,
      group: 'tools',
      run: async (args, io, list) =>
        (await import('./completion.js')).completionCommand(args, io, await list()),
    },
  },
} satisfies Feature;
