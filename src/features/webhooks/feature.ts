import { typesIn } from '../../errors/catalogue.js';
import type { Feature } from '../../feature.js';
import { COMMANDS } from './commands.js';
import { WEBHOOK_SETTINGS } from './settings.js';
import type { WebhookServices } from './webhook-store.js';

/** Deliveries of events to subscribers. */
export default {
  endpoints: async () => (await import('./endpoints.js')).ENDPOINTS,
  errors: async () => typesIn(await import('./errors.js')),
  documentation: { tags: { webhooks: 'Webhooks and their deliveries.' }, sendsEvents: true },
  open: async ({ config, db, log, feed, collections }) => {
    const { openWebhooks } = await import('./open-webhooks.js');
    const { readerOf } = await import('./webhook-store.js');
    const { createWebhookMetrics } = await import('./metrics.js');
    const { webhookPrunes } = await import('./delivery-store.js');
    const metrics = createWebhookMetrics();
    const settings = WEBHOOK_SETTINGS.of(config);
    const rules = { insecure: config.insecure.includes('webhooks'), allowed: settings.webhookAllow };
    const { stop, ...webhooks } = openWebhooks(db, log, settings, rules, metrics, feed);
    const names = collections.map(({ resource }) => resource.name);
    const services = { db, ...webhooks, read: readerOf(names, rules), source: config.publicUrl ?? '/' };
    return {
      services: () => services,
      metrics,
      dropped: (events) => {
        metrics.dropped.value += events;
        log.error({ events }, 'events were deleted before webhooks received them: EVENTS_MAX_BYTES');
      },
      prunes: webhookPrunes(settings.webhookRetentionSeconds),
      stop,
    };
  },
  commands: {
    webhooks: {
      ...COMMANDS.webhooks,
      group: 'receivers',
      run: async (args, io) =>
        (await import('./listen-command.js')).webhooksCommand(args, io, io.env.WEBHOOK_SECRET),
    },
    'verify-webhook': {
      ...COMMANDS['verify-webhook'],
      group: 'receivers',
      run: async (args, io) =>
        (await import('./verify-command.js')).verifyCommand(args, io, io.env.WEBHOOK_SECRET),
    },
  },
} satisfies Feature<WebhookServices>;
