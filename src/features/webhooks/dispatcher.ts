import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createBatcher } from '../../db/batcher.js';
import type { Db } from '../../db/db.js';
import { sharing } from '../../telemetry/instruments.js';
import type { Log } from '../../telemetry/log.js';
import { CoalescedRuns } from '../../work/shared-runs.js';
import { type Claimed, claim, finish, type Result } from './delivery-store.js';
import type { Sender, TargetResponse } from './http-sender.js';
import type { WebhookMetrics } from './metrics.js';
import type { WebhookConfig } from './settings.js';
import { signWebhook } from './sign.js';
import { readTarget, type TargetRules } from './target-url.js';

/** A lease is this much longer than an attempt may take, so that the result can be stored; milliseconds. */
const MARGIN_MS = 15_000;
/** Time between two attempts to store a result. */
const STORE_RETRY_MS = 500;
const RESULTS = { max: 200, inFlight: 1, waiting: 10_000 };

type StoredResult = Result & { readonly webhookId: string };

/**
 * Leases deliveries that are due, as many as there is capacity for, and sends them. Every attempt ends before its lease
 * does. If a result cannot be stored while the database is away, it is stored later or, once the lease has ended, left
 * to another attempt: delivery is at least once.
 */
export class Dispatcher {
  readonly #owner = randomUUID();
  readonly #inFlight = new Set<Promise<void>>();
  readonly #loop = new CoalescedRuns(() => this.#claim());
  readonly #store: (result: StoredResult) => Promise<void>;
  #isStopped = false;

  constructor(
    readonly db: Db,
    readonly log: Log,
    readonly sender: Sender,
    readonly metrics: WebhookMetrics,
    readonly rules: TargetRules,
    readonly config: WebhookConfig,
  ) {
    this.#store = createBatcher<StoredResult, void>(
      { ...RESULTS, sharing: sharing(db.metrics, 'finish', 'deliveries') },
      async (results) => {
        await finish(db, this.#owner, results);
        return results.map(() => undefined);
      },
    );
  }

  /** Looks for deliveries that are due now. */
  readonly wake = (): void => this.#loop.request();

  /** Begins no more deliveries. Those in flight may finish within `ms`; later they are returned for another attempt. */
  async stop(ms: number): Promise<void> {
    this.#isStopped = true;
    const timer = setTimeout(() => this.sender.close(), ms);
    await this.#loop.stop();
    while (this.#inFlight.size > 0) await Promise.all(this.#inFlight);
    clearTimeout(timer);
    this.sender.close();
  }

  get #leaseMs(): number {
    return this.config.webhookTimeoutMs + MARGIN_MS;
  }

  async #claim(): Promise<void> {
    const { webhookConcurrency, webhookTargetConcurrency: perWebhook } = this.config;
    const all = webhookConcurrency - this.#inFlight.size;
    if (all <= 0) return;
    try {
      for (const claimed of await claim(this.db, this.#owner, this.#leaseMs / 1000, { perWebhook, all }))
        this.#begin(claimed);
    } catch (error) {
      this.log.warn({ err: error }, 'deliveries wait for the database');
    }
  }

  #begin(claimed: Claimed): void {
    const work = this.#deliver(claimed)
      .catch((error) =>
        this.log.error({ err: error, delivery: claimed.id }, 'a delivery was left to its lease'),
      )
      .finally(() => {
        this.#inFlight.delete(work);
        this.metrics.trying.value = this.#inFlight.size;
        this.wake();
      });
    this.#inFlight.add(work);
    this.metrics.trying.value = this.#inFlight.size;
  }

  async #deliver(claimed: Claimed): Promise<void> {
    const since = performance.now();
    const { id, webhook_id: webhookId, tries } = claimed;
    const { sender, rules, config, metrics, log } = this;
    const outcome = outcomeOf(await post(sender, rules, claimed), claimed, config.webhookRetries);
    metrics.tries.of(outcome.outcome).observe((performance.now() - since) / 1000);
    const { status, error } = outcome;
    const hint = error === 'ADDRESS_REFUSED' ? REFUSED_HINT : {};
    const details = { webhook: webhookId, delivery: id, tries, status, error, ...hint };
    if (outcome.outcome === 'dead') log.warn(details, 'a delivery failed for the last time');
    if (outcome.outcome === 'retry') log.warn(details, 'a delivery failed and will be retried');
    await this.#storeUntil({ id, webhookId, tries, ...outcome }, since + this.#leaseMs);
  }

  async #storeUntil(result: StoredResult, leaseEnd: number): Promise<void> {
    for (;;) {
      try {
        return await this.#store(result);
      } catch (error) {
        if (this.#isStopped || performance.now() + STORE_RETRY_MS > leaseEnd)
          return this.log.warn(
            { err: error, delivery: result.id },
            'the result of a delivery could not be stored',
          );
        await sleep(STORE_RETRY_MS);
      }
    }
  }
}

const REFUSED_HINT = { hint: 'the target is in a private network: WEBHOOK_ALLOW allows addresses and names' };

/** Sends a delivery. The rules for targets may have become stricter since the webhook was created. */
async function post(sender: Sender, rules: TargetRules, claimed: Claimed): Promise<TargetResponse> {
  const { event_id: id, body, secret, previous_secret: previous, tries } = claimed;
  const secrets = previous === null ? [secret] : [secret, previous];
  const url = readTarget(claimed.url, rules);
  if (typeof url === 'string')
    return { status: undefined, error: 'ADDRESS_REFUSED', excerpt: '', retryAfter: undefined };
  const timestamp = Math.floor(Date.now() / 1000);
  const message = { id, timestamp, target: url.pathname + url.search, body };
  const headers = {
    'Content-Type': 'application/cloudevents+json; charset=utf-8',
    'User-Agent': 'plinth-webhooks/1',
    ...signWebhook(message, secrets, tries),
  };
  return sender.post(url, headers, body);
}

/** The result of an attempt, without its delivery. */
export type Outcome = Omit<Result, 'id' | 'tries'>;

/** A Retry-After applies up to a day. */
const MAX_RETRY_AFTER_S = 86_400;
/** How much longer than planned a delivery may take, because of jitter, Retry-After and the attempts themselves. */
const [MAX_AGE_FACTOR, MAX_AGE_EXTRA_S] = [1.5, 600];

/**
 * The meaning of a response: 2xx is delivered, 410 disables the webhook, anything else (also a redirect) is a failure. A
 * failed delivery is retried after the planned delay, plus or minus a fifth, or after Retry-After if that
 * is longer. After the last planned attempt, or if the delivery is much older than planned, it is dead. `age`: seconds since
 * it was due.
 */
export function outcomeOf(
  { status, error, excerpt, retryAfter }: TargetResponse,
  { tries, age }: { readonly tries: number; readonly age: number },
  retries: readonly number[],
  random: () => number = Math.random,
): Outcome {
  const response = { status: status ?? null, error: error ?? null, body: excerpt === '' ? null : excerpt };
  const end = { ...response, delay: 0, disable: false };
  if (error === 'STOPPED') return { ...end, outcome: 'back' };
  if (status !== undefined && status >= 200 && status < 300) return { ...end, outcome: 'delivered' };
  if (status === 410) return { ...end, outcome: 'dead', disable: true };
  const planned = retries[tries - 1];
  const maxAge = MAX_AGE_EXTRA_S + MAX_AGE_FACTOR * retries.reduce((sum, seconds) => sum + seconds, 0);
  if (planned === undefined || age > maxAge) return { ...end, outcome: 'dead' };
  const delay = Math.max(planned * (0.8 + 0.4 * random()), secondsOf(retryAfter));
  return { ...end, outcome: 'retry', delay };
}

/** Retry-After (RFC 9110 section 10.2.3) in seconds from now; 0 if it is missing or invalid. */
function secondsOf(field: string | undefined): number {
  if (field === undefined) return 0;
  const seconds = /^\d{1,9}$/.test(field) ? Number(field) : (Date.parse(field) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.min(Math.max(seconds, 0), MAX_RETRY_AFTER_S) : 0;
}
