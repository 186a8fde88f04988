import type { Db } from '../../db/db.js';
import { JSON_TYPE } from '../../http/media-types.js';
import type { Reply } from '../../http/reply.js';
import { ISSUER_SQL } from './issuer-statements.js';
import { timeText } from './pages/page-frame.js';
import { waysOf } from './sign-in-ways.js';
import type { User } from './user-claims.js';

/** The changes in the log of an account, as their triggers name them. */
const CHANGES: Readonly<Record<string, string>> = {
  'sign-in': 'Signed in',
  password: 'The password was set',
  'passkey-added': 'A passkey was added',
  'passkey-removed': 'A passkey was removed',
  'app-added': 'An authenticator app was added',
  'app-removed': 'The authenticator app was removed',
  'recovery-code': 'A recovery code was used',
  issuer: 'Another issuer was connected',
  'issuer-removed': 'Another issuer was removed',
  address: 'The address was changed',
  disabled: 'The account was disabled',
  enabled: 'The account was enabled',
};

/** The last changes of an account that concern its security, the newest first, for its user. */
export async function logOf(db: Db, userId: string): Promise<string[]> {
  const rows = await db.run(ISSUER_SQL.log_of_user, [userId]);
  return rows.map(({ change, at }) => `${timeText(Number(at))} ${CHANGES[String(change)] ?? String(change)}`);
}

/** A file with all that an account contains, except secrets: the record, the ways to sign in, applications, and the last changes. */
export async function accountData(db: Db, user: User): Promise<Reply> {
  const read = async (text: string) => (await db.run(text, [user.id])) as readonly object[];
  const data = {
    user: user.record,
    sessions: await read(ISSUER_SQL.sessions_of_user),
    ways: await waysOf({ db }, user),
    applications: await read(ISSUER_SQL.consents_of_user),
    changes: await read(ISSUER_SQL.log_of_user),
  };
  const headers = ['Content-Type', JSON_TYPE, 'Cache-Control', 'no-store'];
  return {
    status: 200,
    headers: [...headers, 'Content-Disposition', 'attachment; filename="account.json"'],
    body: JSON.stringify(data, null, 2),
  };
}
