import { isIP } from 'node:net';
import type { Network } from '../ip-address.js';
import type { Reader } from './env-reader.js';
import { parseNames, parseNetworks } from './parsers.js';

/** Where webhooks may go, and how often they try. Durations in milliseconds unless they say otherwise. */
export interface WebhookConfig {
  /** Whether this process delivers; one that does not still manages webhooks. */
  readonly webhookDelivery: boolean;
  /** Targets may be http. */
  readonly webhookInsecure: boolean;
  readonly webhookAllow: Allowed;
  /** A delivery from the name's resolution to the end of the answer. */
  readonly webhookTimeoutMs: number;
  /** Seconds before the second try, the third, and so on; after the last one the delivery is dead. */
  readonly webhookRetries: readonly number[];
  /** Deliveries of this process that are under way at once. */
  readonly webhookConcurrency: number;
  /** Deliveries to one webhook that are under way at once, of all processes. */
  readonly webhookTargetConcurrency: number;
  readonly webhookPollMs: number;
  /** Seconds that a delivery is kept after its end. */
  readonly webhookRetentionSeconds: number;
}

/** What may be a target in spite of being inside. */
export interface Allowed {
  /** Lower-case; any address of theirs. */
  readonly hosts: ReadonlySet<string>;
  readonly networks: readonly Network[];
}

/** About three days in all. */
const RETRIES = [5, 30, 120, 600, 1800, 3600, 7200, 14_400, 28_800, 28_800, 43_200, 43_200, 86_400];
const NOTHING: Allowed = { hosts: new Set(), networks: [] };

/** Reads the settings of webhooks. */
export function readWebhooks({ read, integer, flag }: Reader): WebhookConfig {
  return {
    webhookDelivery: read('WEBHOOK_DELIVERY', true, '`on` or `off`', (text) =>
      text === 'on' ? true : text === 'off' ? false : undefined,
    ),
    webhookInsecure: flag('WEBHOOK_INSECURE'),
    webhookAllow: read(
      'WEBHOOK_ALLOW',
      NOTHING,
      'host names, IP addresses or networks: hooks.internal, 10.1.0.0/16',
      parseAllowed,
    ),
    webhookTimeoutMs: integer('WEBHOOK_TIMEOUT_MS', 15_000, 50, 60_000),
    webhookRetries: read<readonly number[]>(
      'WEBHOOK_RETRIES',
      RETRIES,
      'up to 50 numbers of seconds up to 604800: 5 30 120',
      parseRetries,
    ),
    webhookConcurrency: integer('WEBHOOK_CONCURRENCY', 64, 1, 1000),
    webhookTargetConcurrency: integer('WEBHOOK_TARGET_CONCURRENCY', 8, 1, 100),
    webhookPollMs: integer('WEBHOOK_POLL_MS', 1000, 10, 60_000),
    webhookRetentionSeconds: integer('WEBHOOK_RETENTION', 604_800, 1, 31_536_000),
  };
}

function parseRetries(text: string): readonly number[] | undefined {
  const seconds = parseNames(text).map((name) =>
    /^\d{1,6}(\.\d{1,3})?$/.test(name) ? Number(name) : Number.NaN,
  );
  return seconds.length <= 50 && seconds.every((each) => each <= 604_800) ? seconds : undefined;
}

const HOST = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$/;

function parseAllowed(text: string): Allowed | undefined {
  const [hosts, networks]: [Set<string>, string[]] = [new Set(), []];
  for (const name of parseNames(text.toLowerCase())) {
    if (isIP(name.split('/')[0]!)) networks.push(name);
    // What URLs take for an address is none of a host: 127.1, 0x7f.1.
    else if (HOST.test(name) && !/(^|\.)(\d+|0x[0-9a-f]*)$/.test(name)) hosts.add(name);
    else return undefined;
  }
  const list = parseNetworks(networks.join(' '));
  return list && { hosts, networks: list };
}
