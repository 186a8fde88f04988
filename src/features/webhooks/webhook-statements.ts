import { fill, statements } from '../../db/statements.js';
import type { PruneTask } from '../../feature.js';

/** The statements of the feature. */
// biome-ignore format: one name a line says no more
export const WEBHOOKS_SQL = statements('features/webhooks/webhooks.sql', [
  'create_webhook', 'list_webhooks', 'get_webhook', 'lock_webhook', 'change_webhook', 'delete_webhook',
  'rotate_secret', 'lock_cursor', 'move_cursor', 'lock_enabled', 'lock_webhooks', 'insert_deliveries', 'claim',
  'finish', 'list_deliveries', 'get_delivery', 'redeliver', 'prune_deliveries', 'past_ended', 'past_left',
  'change_segment', 'truncate_expired',
]);

/** Delivered and dead deliveries expire after this time; segments that have only such ones are truncated. */
export const webhookPrunes = (retentionSeconds: number): readonly PruneTask[] =>
  [
    WEBHOOKS_SQL.truncate_expired,
    WEBHOOKS_SQL.change_segment,
    fill(WEBHOOKS_SQL.prune_deliveries, { past: WEBHOOKS_SQL.past_ended }),
    fill(WEBHOOKS_SQL.prune_deliveries, { past: WEBHOOKS_SQL.past_left }),
  ].map((text) => ({ text, args: [retentionSeconds] }));
