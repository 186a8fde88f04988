import type { Result } from './delivery-store.js';
import type { Answer } from './http-sender.js';

/** What is decided about a try, but for whose it is. */
export type Outcome = Omit<Result, 'id' | 'tries'>;

/** A Retry-After is honoured up to a day. */
const MAX_RETRY_AFTER_S = 86_400;
/** How much longer than its plan a delivery may take: jitter, and what Retry-After and the tries themselves add. */
const [PATIENCE, PATIENCE_S] = [1.5, 600];

/**
 * What an answer means: 2xx delivered; 410 the end of the webhook; all else a failure, redirects among it, after which
 * the next delay of the plan follows, a fifth more or less, or what Retry-After asks for if that is longer. After
 * the last try of the plan, or with a delivery much older than the plan, dead. `age` in seconds since it was due.
 */
export function outcomeOf(
  { status, error, excerpt, retryAfter }: Answer,
  { tries, age }: { readonly tries: number; readonly age: number },
  retries: readonly number[],
  random: () => number = Math.random,
): Outcome {
  const told = { status: status ?? null, error: error ?? null, body: excerpt === '' ? null : excerpt };
  const end = { ...told, delay: 0, disable: false };
  if (error === 'STOPPED') return { ...end, outcome: 'back' };
  if (status !== undefined && status >= 200 && status < 300) return { ...end, outcome: 'delivered' };
  if (status === 410) return { ...end, outcome: 'dead', disable: true };
  const planned = retries[tries - 1];
  const longest = PATIENCE_S + PATIENCE * retries.reduce((sum, seconds) => sum + seconds, 0);
  if (planned === undefined || age > longest) return { ...end, outcome: 'dead' };
  const delay = Math.max(planned * (0.8 + 0.4 * random()), secondsOf(retryAfter));
  return { ...end, outcome: 'retry', delay };
}

/** Retry-After (RFC 9110 section 10.2.3) in seconds from now; 0 for none or nonsense. */
function secondsOf(field: string | undefined): number {
  if (field === undefined) return 0;
  const seconds = /^\d{1,9}$/.test(field) ? Number(field) : (Date.parse(field) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.min(Math.max(seconds, 0), MAX_RETRY_AFTER_S) : 0;
}
