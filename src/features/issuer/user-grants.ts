import type { Db } from '../../db/db.js';
import { ISSUER_SQL } from './issuer-statements.js';
import type { Entry } from './pages/account-page.js';

/** The other sessions of a user, the newest first; `current` is the one of the request. */
export async function sessionsOf(db: Db, userId: string, current: string): Promise<Entry[]> {
  const rows = await db.run(ISSUER_SQL.sessions_of_user, [userId]);
  return rows
    .filter(({ uid }) => uid !== current)
    .map(({ uid, began }) => ({ id: String(uid), text: `Signed in ${timeText(Number(began))}` }));
}

/** The clients to which a user has allowed access. */
export async function grantsOf(db: Db, userId: string): Promise<Entry[]> {
  const rows = await db.run(ISSUER_SQL.consents_of_user, [userId]);
  return rows.map(({ id, name, scopes }) => ({ id: String(id), text: `${name}: ${scopes}` }));
}

/** Ends the access of a client to what a user allowed. */
export async function revokeClient(db: Db, userId: string, clientId: string): Promise<void> {
  await db.transaction(async (run) => {
    await run(ISSUER_SQL.forget_consent, [userId, clientId]);
    await run(ISSUER_SQL.revoke_client, [userId, clientId]);
  });
}

export async function endSession(db: Db, userId: string, uid: string): Promise<void> {
  await db.run(ISSUER_SQL.end_session, [userId, uid]);
}

/** A time for people, in UTC. */
export const timeText = (seconds: number) =>
  new Date(seconds * 1000).toISOString().slice(0, 16).replace('T', ' ');
