import type { WebhookConfig } from '../config/webhooks.js';
import type { Db } from '../db/db.js';
import type { EventMetrics } from '../telemetry/event-metrics.js';
import type { Log } from '../telemetry/log.js';
import { openDeliverer } from './dispatcher.js';
import type { Resolve } from './dns.js';
import { fanOut, type Source } from './fan-out.js';
import { openSender } from './http-sender.js';
import type { TargetRules } from './target-url.js';

/** The webhooks of one process. */
export interface Webhooks {
  /** There is something new in the feed, or due: it need not wait for the next turn. */
  wake(): void;
  /**
   * To be awaited before a webhook is made: while there are no others, what was written until now is passed, so that
   * the new one is not told of it. Also where others deliver. Throws when the database is away.
   */
  pass(): Promise<void>;
  /** Ends the work; what is under way may take `ms` to its end. */
  stop(ms: number): Promise<void>;
}

/** Where targets may be, as configured. */
export function targetRules({ webhookInsecure, webhookAllow }: WebhookConfig): TargetRules {
  return { insecure: webhookInsecure, allowed: webhookAllow };
}

/**
 * Makes deliveries of the feed and delivers them, again and again and whenever it is woken. `source` undefined:
 * there is no feed, only tests and what is to be delivered again. `resolve` instead of DNS.
 */
export function openWebhooks(
  db: Db,
  log: Log,
  config: WebhookConfig,
  metrics: EventMetrics,
  source?: Source,
  resolve?: Resolve,
): Webhooks {
  const pass = async (): Promise<void> => {
    if (!source) return;
    await source.look();
    await fanOut(db, source);
  };
  if (!config.webhookDelivery) return { wake: () => undefined, pass, stop: async () => undefined };
  const { webhookTimeoutMs: timeoutMs, webhookTargetConcurrency: targetConcurrency } = config;
  const rules = targetRules(config);
  const sender = openSender({
    allowed: rules.allowed,
    timeoutMs,
    ...(resolve ? { resolve } : {}),
  });
  const deliverer = openDeliverer(db, log, sender, metrics, {
    rules,
    timeoutMs,
    retries: config.webhookRetries,
    concurrency: config.webhookConcurrency,
    targetConcurrency,
  });
  const reader = source && openReader(db, log, source, deliverer.look);
  const wake = (): void => {
    reader?.look();
    deliverer.look();
  };
  const timer = setInterval(wake, config.webhookPollMs);
  timer.unref();
  return {
    wake,
    pass,
    stop: async (ms) => {
      clearInterval(timer);
      await reader?.stop();
      await deliverer.stop(ms);
    },
  };
}

/** Makes deliveries until there is nothing new, one turn at a time, and listens for more while anybody wants it. */
function openReader(db: Db, log: Log, source: Source, onRead: () => void) {
  let [again, stopped] = [false, false];
  let reading: Promise<void> | undefined;
  let unwatch: (() => void) | undefined;

  async function turn(): Promise<boolean> {
    const { more, wanted } = await fanOut(db, source);
    if (wanted && !stopped) unwatch ??= source.watch(look);
    else {
      unwatch?.();
      unwatch = undefined;
    }
    onRead();
    return more;
  }

  async function read(): Promise<void> {
    try {
      do {
        again = false;
        while (!stopped && (await turn()));
      } while (again && !stopped);
    } catch (error) {
      log.warn({ err: error }, 'webhooks have to wait for the feed');
    } finally {
      reading = undefined;
    }
  }

  function look(): void {
    again = true;
    if (!stopped) reading ??= read();
  }

  return {
    look,
    stop: async (): Promise<void> => {
      stopped = true;
      unwatch?.();
      await reading;
    },
  };
}
