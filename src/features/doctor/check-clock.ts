import type { Config } from '../../config/config.js';
import { ISSUER_SETTINGS } from '../issuer/settings.js';
import { type Check, messageOf, resultsOf } from './check.js';

const { ok, warning, problem } = resultsOf('clock');

const TIMEOUT_MS = 5000;
/** Times of events and expiries come from both clocks. */
const MAX_DATABASE_MS = 2000;
/** Date has seconds. */
const DATE_MS = 1000;

const ADVICE = 'synchronize the clocks of both machines (NTP)';

/** The difference between this machine and the database. `aheadMs`: how far the database is ahead. */
export function checkDatabaseClock(aheadMs: number): Check {
  const text = `the clock of the database ${difference(aheadMs)}`;
  return Math.abs(aheadMs) > MAX_DATABASE_MS ? warning(text, ADVICE) : ok(text);
}

/** The difference between this machine and the authorization server, which decides whether a token is valid. */
export async function checkIssuerClock(config: Config): Promise<Check[]> {
  const { issuer, jwtSkewSeconds } = config;
  const { authServer } = ISSUER_SETTINGS.of(config);
  if (authServer || !config.auth.includes('bearer') || issuer === undefined || !URL.canParse(issuer))
    return [];
  try {
    const began = Date.now();
    const response = await fetch(issuer, {
      method: 'HEAD',
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const ended = Date.now();
    const date = Date.parse(response.headers.get('date') ?? '');
    if (Number.isNaN(date)) return [ok('the authorization server sends no Date')];
    // A Date is the beginning of its second, and is made at some time of the exchange.
    const ahead = date - Math.min(Math.max(date, began - DATE_MS), ended);
    const text = `the clock of ISSUER ${difference(ahead)}`;
    return Math.abs(ahead) > jwtSkewSeconds * 1000
      ? [problem(`${text}, more than ${jwtSkewSeconds} s: its tokens may be refused`, ADVICE)]
      : [ok(text)];
  } catch (error) {
    const { cause } = error as { cause?: unknown };
    return [
      warning(
        `ISSUER ${issuer} cannot be reached: ${messageOf(cause ?? error)}`,
        'check ISSUER and the network: without its keys, no token is accepted',
      ),
    ];
  }
}

/** `is 0.2 s ahead`. */
function difference(aheadMs: number): string {
  const seconds = (Math.abs(aheadMs) / 1000).toFixed(1);
  return seconds === '0.0'
    ? 'agrees with this machine'
    : `is ${seconds} s ${aheadMs > 0 ? 'ahead' : 'behind'}`;
}
