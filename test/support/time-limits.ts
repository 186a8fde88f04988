/**
 * Settings with which no time limit of the service ends anything while a test does something else, however slow the machine
 * is. Tests of a limit set it themselves. The limit of a delivery stays, since a delivery whose process was killed is
 * attempted again after it. A start without its database fails at once.
 */
export const NO_TIME_LIMITS: Readonly<Record<string, string>> = {
  BODY_MIN_RATE: '0',
  REQUEST_TIMEOUT_MS: '3600000',
  DB_TIMEOUT_MS: '60000',
  QUERY_TIMEOUT_MS: '60000',
  DB_START_MS: '0',
};

/** Deliveries that reach a test are looked for often, have time on a slow machine, and are retried quickly. */
export const QUICK_DELIVERY = {
  webhookPollMs: 100,
  webhookTimeoutMs: 60_000,
  webhookRetries: [0.01, 0.02, 0.03],
};

/** The limits of time that are no settings, for services in the process of the test. */
export const NO_FIXED_LIMITS = {
  headersTimeoutMs: 3_600_000,
  streamStallMs: 3_600_000,
};
