import type { Feature } from '../../feature.js';
import { COMMANDS } from './commands.js';

/** The documents about the API. */
export default {
  commands: {
    openapi: {
      ...COMMANDS.openapi,
      group: 'tools',
      run: async (args, io) => (await import('./openapi-command.js')).openApiCommand(args, io),
    },
  },
} satisfies Feature;
