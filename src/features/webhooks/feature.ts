import { webhookSecret } from '../../config/config.js';
import { typesIn } from '../../errors/catalogue.js';
import type { Feature } from '../../feature.js';
import type { Core, OpenFeature } from '../../open-features.js';
import { COMMANDS } from './commands.js';
import type { Webhooks } from './open.js';

/** Deliveries of events to subscribers. */
export default {
  open: async (core) => {
    const { config, db, log, metrics, feed } = core;
    const { openWebhooks } = await import('./open.js');
    const { sourceOf } = await import('./feed-source.js');
    const webhooks = openWebhooks(db, log, config, metrics.events, feed && sourceOf(feed, log));
    const { webhookPrunes } = await import('./webhook-statements.js');
    return {
      ...(await routesOf(core, webhooks)),
      prunes: webhookPrunes(config.webhookRetentionSeconds),
      stop: (ms) => webhooks.stop(ms),
    };
  },
  describe: (core) => routesOf(core, { wake: () => undefined, pass: async () => undefined }),
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

async function routesOf(
  { config, db, collections }: Core,
  webhooks: Pick<Webhooks, 'wake' | 'pass'>,
): Promise<OpenFeature> {
  const { webhookRoutes } = await import('./endpoints.js');
  const { targetRules } = await import('./open.js');
  const names = collections.map(({ resource }) => resource.name);
  return {
    errors: typesIn(await import('./errors.js')),
    routes: () => webhookRoutes(db, names, targetRules(config), config.publicUrl ?? '/', webhooks),
  };
}
