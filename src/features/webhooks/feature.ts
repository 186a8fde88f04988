import { webhookSecret } from '../../config/config.js';
import { typesIn } from '../../errors/catalogue.js';
import type { Feature } from '../../feature.js';
import { COMMANDS } from './commands.js';
import type { WebhookServices } from './webhook-actions.js';

/** Deliveries of events to subscribers. */
export default {
  endpoints: async () => (await import('./endpoints.js')).ENDPOINTS,
  open: async ({ config, db, log, metrics, feed, collections }) => {
    const { openWebhooks, targetRules } = await import('./open.js');
    const { sourceOf } = await import('./feed-source.js');
    const { fieldsOf } = await import('./webhook-input.js');
    const { webhookPrunes } = await import('./webhook-statements.js');
    const { wake, pass, stop } = openWebhooks(db, log, config, metrics.events, feed && sourceOf(feed, log));
    const names = collections.map(({ resource }) => resource.name);
    const services = {
      db,
      wake,
      pass,
      read: fieldsOf(names, targetRules(config)),
      source: config.publicUrl ?? '/',
    };
    return {
      errors: typesIn(await import('./errors.js')),
      services: () => services,
      prunes: webhookPrunes(config.webhookRetentionSeconds),
      stop,
    };
  },
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
} satisfies Feature<WebhookServices>;
