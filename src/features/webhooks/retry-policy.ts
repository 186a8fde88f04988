import type { Result } from './delivery-store.js';
import type { TargetResponse } from './http-sender.js';

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
