import type { Config } from '../../config/config.js';
import { ACCOUNTS_SQL } from '../accounts/accounts-statements.js';
import { ACCOUNTS_SETTINGS, mailWays } from '../accounts/settings.js';
import { type Check, resultsOf } from './check.js';
import { inSession } from './inspection.js';

const mail = resultsOf('mail');

const UNDEFINED_TABLE = '42P01';

/** How messages are sent, and those that wait in the database. An embedded one is not started for that. */
export async function checkMail(config: Config): Promise<Check[]> {
  const { databaseUrl, dbTimeoutMs } = config;
  const [way] = mailWays(ACCOUNTS_SETTINGS.of(config));
  if (way === undefined) return [];
  if (databaseUrl === undefined) return [mail.ok(`messages are sent by ${way}`)];
  const { waiting, failed } = await stateIn(databaseUrl, dbTimeoutMs);
  return mail.of(`messages are sent by ${way}; ${waiting} wait`, [
    [
      failed > 0,
      'warning',
      `${failed} of ${waiting} messages wait after an attempt that failed`,
      `look for "a message is sent again later" in the log of the service, and check ${way}`,
    ],
  ]);
}

async function stateIn(url: string, timeoutMs: number): Promise<{ waiting: number; failed: number }> {
  try {
    const [row] = await inSession(url, timeoutMs, (run) => run(ACCOUNTS_SQL.mail_state, []));
    return row as { waiting: number; failed: number };
  } catch (error) {
    // Before the first start.
    if ((error as { code?: unknown }).code === UNDEFINED_TABLE) return { waiting: 0, failed: 0 };
    throw error;
  }
}
