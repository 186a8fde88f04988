import { clientSecret, readConfig, webhookSecret } from '../../src/config/config.js';

/** Former names, which a warning reports. */
const FORMER = new Set(['ANSWER_BYTES', 'EVENTS_KEEP']);

/** The names of all settings, sorted. */
export function settings(): string[] {
  const names = new Set<string>();
  const env = new Proxy<Record<string, string>>(
    {},
    {
      get: (_, name) => void names.add(String(name)),
    },
  );
  readConfig(env);
  clientSecret(env);
  webhookSecret(env);
  // The variables of libpq complete a database URL.
  return [...names].filter((name) => !FORMER.has(name) && !name.startsWith('PG')).sort();
}
