import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createBatcher } from '../db/batcher.js';
import type { Db } from '../db/db.js';
import type { EventMetrics } from '../telemetry/event-metrics.js';
import type { Log } from '../telemetry/log.js';
import { sharing } from '../telemetry/metrics.js';
import { type Claimed, claim, finish, type Result } from './delivery-store.js';
import type { Answer, Sender } from './http-sender.js';
import { outcomeOf } from './retry-policy.js';
import { signWebhook } from './sign.js';
import { readTarget, type TargetRules } from './target-url.js';

export interface DeliverOptions {
  readonly rules: TargetRules;
  readonly timeoutMs: number;
  /** Seconds before the second try, the third, and so on. */
  readonly retries: readonly number[];
  /** Deliveries under way at once, of this process. */
  readonly concurrency: number;
  /** To one webhook, of all processes. */
  readonly targetConcurrency: number;
}

/** Delivers what is due. */
export interface Deliverer {
  /** Looks for what is due now, once more when it is just looking. */
  look(): void;
  /** Takes no more; what is under way may end within `ms`, and goes back to be tried elsewhere after that. */
  stop(ms: number): Promise<void>;
}

/** A lease is so much longer than a try may take, for the result to be written down; milliseconds. */
const MARGIN_MS = 15_000;
/** Between two attempts to write a result down. */
const REWRITE_MS = 500;
const RESULTS = { max: 200, inFlight: 1, waiting: 10_000 };

/**
 * Takes leases of what is due, as many as there are places, and sends it. Every try has its end before its lease
 * does. A result that cannot be written while the database is away is written later or, once the lease has ended,
 * left to another try: at least once.
 */
export function openDeliverer(
  db: Db,
  log: Log,
  sender: Sender,
  { tries: durations, trying }: EventMetrics,
  options: DeliverOptions,
): Deliverer {
  const owner = randomUUID();
  const leaseMs = options.timeoutMs + MARGIN_MS;
  const inFlight = new Set<Promise<void>>();
  let [looking, again, stopped] = [false, false, false];

  const write = createBatcher<Result & { readonly webhookId: string }, void>(
    { ...RESULTS, sharing: sharing(db.metrics, 'finish', 'deliveries') },
    async (results) => {
      await finish(db, owner, results);
      return results.map(() => undefined);
    },
  );

  async function keep(result: Result & { readonly webhookId: string }, until: number): Promise<void> {
    for (;;) {
      try {
        return await write(result);
      } catch (error) {
        if (stopped || performance.now() + REWRITE_MS > until) {
          const { id } = result;
          return log.warn({ err: error, delivery: id }, 'how a delivery ended could not be written down');
        }
        await sleep(REWRITE_MS);
      }
    }
  }

  async function deliver(claimed: Claimed): Promise<void> {
    const since = performance.now();
    const { id, webhookId, tries } = claimed;
    const outcome = outcomeOf(await post(sender, options.rules, claimed), claimed, options.retries);
    durations.of(outcome.outcome).observe((performance.now() - since) / 1000);
    if (outcome.outcome === 'dead' || outcome.outcome === 'retry') {
      const { status, error } = outcome;
      const told = { webhook: webhookId, delivery: id, tries, status, error };
      if (outcome.outcome === 'dead') log.warn(told, 'a delivery is given up');
      else log.info(told, 'a delivery failed and is tried again');
    }
    await keep({ id, webhookId, tries, ...outcome }, since + leaseMs);
  }

  function begin(claimed: Claimed): void {
    const work = deliver(claimed)
      .catch((error) => log.error({ err: error, delivery: claimed.id }, 'a delivery was left to its lease'))
      .finally(() => {
        inFlight.delete(work);
        trying.value = inFlight.size;
        look();
      });
    inFlight.add(work);
    trying.value = inFlight.size;
  }

  async function take(): Promise<void> {
    looking = true;
    try {
      do {
        again = false;
        const all = options.concurrency - inFlight.size;
        if (all <= 0) break;
        const max = { perWebhook: options.targetConcurrency, all };
        for (const claimed of await claim(db, owner, leaseMs / 1000, max)) begin(claimed);
      } while (again && !stopped);
    } catch (error) {
      log.warn({ err: error }, 'deliveries have to wait for the database');
    } finally {
      looking = false;
    }
  }

  function look(): void {
    again = true;
    if (!looking && !stopped) void take();
  }

  return {
    look,
    stop: async (ms) => {
      stopped = true;
      const impatient = setTimeout(() => sender.close(), ms);
      while (inFlight.size > 0 || looking) await Promise.all([...inFlight, sleep(10)]);
      clearTimeout(impatient);
      sender.close();
    },
  };
}

/** The rules may have become stricter since the webhook was made. */
async function post(sender: Sender, rules: TargetRules, claimed: Claimed): Promise<Answer> {
  const { eventId: id, body, secrets, tries } = claimed;
  const url = readTarget(claimed.url, rules);
  if (typeof url === 'string')
    return { status: undefined, error: 'ADDRESS_REFUSED', excerpt: '', retryAfter: undefined };
  const message = {
    id,
    timestamp: Math.floor(Date.now() / 1000),
    target: url.pathname + url.search,
    body,
  };
  // A receiver of X-Signature knows one secret, before or after it was told the new one: each gets its turn.
  const requestSecret = secrets[(tries - 1) % secrets.length]!;
  return await sender.post(
    url,
    {
      'Content-Type': 'application/cloudevents+json; charset=utf-8',
      'User-Agent': 'plinth-webhooks/1',
      ...signWebhook(message, secrets, requestSecret),
    },
    body,
  );
}
