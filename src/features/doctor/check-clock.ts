import type { Config } from '../../config/config.js';
import { ISSUER_SETTINGS } from '../issuer/settings.js';
import { type Check, messageOf, resultsOf } from './check.js';

const clock = resultsOf('clock');

const TIMEOUT_MS = 5000;
/** Times of events and expiries come from both clocks. */
const MAX_DATABASE_MS = 2000;
/** Date has seconds. */
const DATE_MS = 1000;

const ADVICE = 'synchronize the clocks of both machines (NTP)';

/** The difference between this machine and the database. `aheadMs`: how far the database is ahead. */
export function checkDatabaseClock(aheadMs: number): Check[] {
  const text = `the clock of the database ${difference(aheadMs)}`;
  return clock.of(text, [[Math.abs(aheadMs) > MAX_DATABASE_MS, 'warning', text, ADVICE]]);
}

/** The difference between this machine and the authorization server, which decides whether a token is valid. */
export async function checkIssuerClock(config: Config): Promise<Check[]> {
  const { issuer, jwtSkewSeconds } = config;
  const { authServer } = ISSUER_SETTINGS.of(config);
  if (authServer || !config.auth.includes('bearer') || issuer === undefined || !URL.canParse(issuer))
    return [];
  try {
    const began = Date.now();
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const response = await fetch(issuer, { method: 'HEAD', redirect: 'manual', signal });
    const date = Date.parse(response.headers.get('date') ?? '');
    if (Number.isNaN(date)) return [clock.ok('the authorization server sends no Date')];
    // A Date is the beginning of its second, and is made at some time of the exchange.
    const ahead = date - Math.min(Math.max(date, began - DATE_MS), Date.now());
    const text = `the clock of ISSUER ${difference(ahead)}`;
    const fault = `${text}, more than ${jwtSkewSeconds} s: its tokens may be refused`;
    return clock.of(text, [[Math.abs(ahead) > jwtSkewSeconds * 1000, 'problem', fault, ADVICE]]);
  } catch (error) {
    const reason = messageOf((error as Error).cause ?? error);
    const advice = 'check ISSUER and the network: without its keys, no token is accepted';
    return [clock.warning(`ISSUER ${issuer} cannot be reached: ${reason}`, advice)];
  }
}

/** `is 0.2 s ahead`. */
function difference(aheadMs: number): string {
  const seconds = (Math.abs(aheadMs) / 1000).toFixed(1);
  if (seconds === '0.0') return 'agrees with this machine';
  return `is ${seconds} s ${aheadMs > 0 ? 'ahead' : 'behind'}`;
}
