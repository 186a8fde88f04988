import type { Db } from '../../db/db.js';
import type { Log } from '../../telemetry/log.js';
import { CoalescedRuns } from '../../work/shared-runs.js';
import { Dispatcher } from './dispatcher.js';
import { fanOut, type Source } from './fan-out.js';
import { openSender, type Resolve } from './http-sender.js';
import type { WebhookMetrics } from './metrics.js';
import type { WebhookConfig } from './settings.js';
import type { TargetRules } from './target-url.js';

/** The webhooks of one process. */
export interface Webhooks {
  /** Processes what is new in the feed or due without waiting for the next poll. */
  readonly wake: () => void;
  /**
   * To be awaited before a webhook is created: without other webhooks, it skips what was written until now, so that the
   * new one receives only later events. Throws if the database is not available.
   */
  readonly pass: () => Promise<void>;
  /** Stops delivering; deliveries in flight may take `ms` to finish. */
  readonly stop: (ms: number) => Promise<void>;
}

/**
 * Creates deliveries from the feed and sends them, regularly and whenever it is woken. Without `source` there is no feed,
 * only test deliveries and redeliveries. `resolve` replaces DNS.
 */
export function openWebhooks(
  db: Db,
  log: Log,
  config: WebhookConfig,
  rules: TargetRules,
  metrics: WebhookMetrics,
  source?: Source,
  resolve?: Resolve,
): Webhooks {
  const pass = async (): Promise<void> => {
    if (!source) return;
    await source.follower.look();
    await fanOut(db, log, source);
  };
  if (!config.webhookDelivery) return { wake: () => undefined, pass, stop: async () => undefined };
  const sender = openSender(rules.allowed, config.webhookTimeoutMs, resolve);
  const dispatcher = new Dispatcher(db, log, sender, metrics, rules, config);
  const reader = source && new FeedReader(db, log, source, dispatcher.wake);
  const wake = (): void => {
    reader?.wake();
    dispatcher.wake();
  };
  const timer = setInterval(wake, config.webhookPollMs);
  timer.unref();
  return {
    wake,
    pass,
    stop: async (ms) => {
      clearInterval(timer);
      await reader?.stop();
      await dispatcher.stop(ms);
    },
  };
}

/** Creates deliveries from the feed whenever there is news, as long as there are webhooks. */
class FeedReader {
  readonly #loop = new CoalescedRuns(() => this.#read());
  #isStopped = false;
  #unwatch: (() => void) | undefined;

  constructor(
    readonly db: Db,
    readonly log: Log,
    readonly source: Source,
    readonly onRead: () => void,
  ) {}

  readonly wake = (): void => this.#loop.request();

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#unwatch?.();
    await this.#loop.stop();
  }

  async #read(): Promise<void> {
    try {
      while (!this.#isStopped && (await this.#readBatch()));
    } catch (error) {
      this.log.warn({ err: error }, 'webhooks wait for the feed');
    }
  }

  /** Whether there is more to read. */
  async #readBatch(): Promise<boolean> {
    const { more, wanted } = await fanOut(this.db, this.log, this.source);
    if (wanted && !this.#isStopped) this.#unwatch ??= this.source.follower.watch(this.wake);
    else {
      this.#unwatch?.();
      this.#unwatch = undefined;
    }
    this.onRead();
    return more;
  }
}
