import { webhookSecret } from '../../config/config.js';
import type { Feature } from '../../feature.js';
import { COMMANDS } from './commands.js';

/** Deliveries of events to subscribers. */
export default {
  commands: {
    webhooks: {
      ...COMMANDS.webhooks,
      group: 'receivers',
      run: async (args, io) =>
        (await import('./listen-command.js')).webhooksCommand(args, io, webhookSecret(io.env)),
    },
    'verify-webhook': {
      ...COMMANDS['verify-webhook'],
      group: 'receivers',
      run: async (args, io) =>
        (await import('./verify-command.js')).verifyCommand(args, io, webhookSecret(io.env)),
    },
  },
} satisfies Feature;
