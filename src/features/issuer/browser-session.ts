import { readCookie, SESSION_COOKIE } from '../../auth/cookies.js';
import { type Principal, passwordVersionOf, scopesOf } from '../../auth/principal.js';
import type { Db } from '../../db/db.js';
import type { Auth } from '../../feature.js';
import { ISSUER_SQL } from './issuer-statements.js';
import { recordHash } from './own-tokens.js';

const FIND = ISSUER_SQL.browser_session;

const ID = /^[\w-]{16,64}$/;

/**
 * Sessions of the authorization server as principals of pages, with the scope `self` and those that an operator granted.
 * The database knows only a hash of the secret.
 */
export function browserSessions(db: Db, isSecure: boolean): NonNullable<Auth['session']> {
  return (cookie) => {
    const id = readCookie(cookie, SESSION_COOKIE, isSecure);
    return id === undefined || !ID.test(id) ? undefined : find(db, id);
  };
}

async function find(db: Db, id: string): Promise<Principal | undefined> {
  const [row] = await db.run(FIND, [recordHash('Session', id)]);
  if (!row) return undefined;
  const { loginTs } = JSON.parse(String(row.payload)) as { loginTs?: number };
  return {
    subject: String(row.id),
    scopes: new Set(['self', ...scopesOf(row.scopes)]),
    scheme: 'session',
    expiresAt: Number(row.expires),
    signedInAt: loginTs,
    passwordVersion: passwordVersionOf(row),
  };
}
