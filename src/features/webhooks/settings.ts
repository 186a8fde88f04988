import { isIP } from 'node:net';
import { FeatureSettings } from '../../config/config.js';
import type { Reader } from '../../config/env-reader.js';
import { parseNames, parseNetworks } from '../../config/parsers.js';
import type { Network } from '../../formats/ip-address.js';

export type WebhookConfig = Readonly<ReturnType<typeof readWebhooks>>;

/** Internal targets that deliveries may go to. */
export interface Allowed {
  /** Lower-case names, with any address. */
  readonly hosts: ReadonlySet<string>;
  readonly networks: readonly Network[];
}

/** Seconds before the second attempt, the third, and so on: about three days in all. */
const RETRIES: readonly number[] = [
  5, 30, 120, 600, 1800, 3600, 7200, 14_400, 28_800, 28_800, 43_200, 43_200, 86_400,
];

function readWebhooks({ read, integer, flag }: Reader) {
  return {
    /** Whether the service has webhooks. */
    webhooks: flag('WEBHOOKS', true),
    /** Whether this process delivers; one that does not still manages webhooks. */
    webhookDelivery: flag('WEBHOOK_DELIVERY', true),
    webhookAllow: read<Allowed>(
      'WEBHOOK_ALLOW',
      { hosts: new Set(), networks: [] },
      'host names, IP addresses or networks: hooks.internal, 10.1.0.0/16',
      parseAllowed,
    ),
    /** From the resolution of the name to the end of the response. */
    webhookTimeoutMs: 15_000,
    /** After the last one the delivery is dead. */
    webhookRetries: RETRIES,
    /** Deliveries of this process in flight. */
    webhookConcurrency: 64,
    /** Deliveries of all processes to one webhook in flight. */
    webhookTargetConcurrency: 8,
    webhookPollMs: 1000,
    /** Seconds that a finished delivery is stored. */
    webhookRetentionSeconds: integer('WEBHOOK_RETENTION', 604_800, 1, 31_536_000),
  };
}

const HOST = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$/;

function parseAllowed(text: string): Allowed | undefined {
  const names = parseNames(text.toLowerCase());
  const isNetwork = (name: string) => isIP(name.split('/')[0]!) !== 0;
  const hosts = names.filter((name) => !isNetwork(name));
  // URLs with 127.1 or 0x7f.1 name an address, not a host.
  const areHosts = hosts.every((name) => HOST.test(name) && !/(^|\.)(\d+|0x[0-9a-f]*)$/.test(name));
  const networks = parseNetworks(names.filter(isNetwork).join(' '));
  return areHosts && networks ? { hosts: new Set(hosts), networks } : undefined;
}

export const WEBHOOK_SETTINGS = new FeatureSettings({
  read: readWebhooks,
  isOn: ({ webhooks }) => webhooks,
  paths: ['webhooks'],
  // biome-ignore format: one name a line says no more
  typeNames: [
    'Deliveries', 'Delivery', 'DeliveryList', 'DeliveryWithEvent', 'NewWebhook', 'redeliver', 'Webhook',
    'WebhookInput', 'WebhookList', 'WebhookPatch', 'Webhooks', 'WebhookSecret',
  ],
  ofCommands: ['WEBHOOK_SECRET'],
});
