import type { Db } from '../../db/db.js';
import { Problem } from '../../errors/problem.js';
import type { ScopedCollection } from '../../feature.js';
import type { JsonObject } from '../../json.js';
import { INVITATIONS_SQL } from './accounts-statements.js';
import { codeEnded, invitationOfAnother, invitationRefused, signInRequired } from './errors.js';
import { type Creation, type Inviting, invitedRecord, inviterOf } from './invitation-records.js';
import { findCode, useCode } from './mailed-code.js';
import { newUser } from './sign-up.js';

export interface Accepting {
  readonly db: Db;
  readonly users: ScopedCollection;
  readonly inviting: Inviting;
  /** Whether people can sign in with a password. */
  readonly hasSignIn: boolean;
}

/** The user who has accepted, and the ids of the records by their collections. */
export interface Accepted {
  readonly user: string;
  readonly created: Readonly<Record<string, string>>;
}

/** An open invitation: its address, and the user who has it. */
export interface OpenInvitation {
  readonly email: string;
  readonly owner: string | undefined;
}

/** The invitation of a code. Throws 403. */
export async function openInvitation(db: Db, code: string): Promise<OpenInvitation> {
  const { about } = await findCode(db, 'invitation', code);
  const [found] = await db.run(INVITATIONS_SQL.find_invitation, [about!]);
  if (!found) throw codeEnded();
  return { email: String(found.email), owner: found.owner === null ? undefined : String(found.owner) };
}

/**
 * Creates the records of an invitation, and the user if there is none, in one transaction that also ends the invitation: if anything
 * is refused, the invitation stays open. The inviter must still be permitted, and is the actor. `fields`: of a new user, if there is no
 * caller. Throws 400, 403, 409.
 */
export async function accept(
  { db, users, inviting, hasSignIn }: Accepting,
  code: string,
  caller: string | undefined,
  fields: JsonObject,
): Promise<Accepted> {
  const { email, owner } = await openInvitation(db, code);
  if (caller !== undefined && caller !== owner) throw invitationOfAnother();
  if (caller === undefined && (owner !== undefined || !hasSignIn)) throw signInRequired();
  const create = caller === undefined ? await newUser(users.whole, { ...fields, email }) : undefined;
  return db.transaction(async (run) => {
    const { about } = await useCode(run, 'invitation', code);
    const [row] = await run(INVITATIONS_SQL.accept, [about!, caller ?? null]);
    if (!row) throw codeEnded();
    const id = create ? await create(run) : caller!;
    const inviter = await inviterOf(run, String(row.inviter));
    if (!inviter) throw invitationRefused();
    const created: Record<string, string> = {};
    for (const [name, record] of Object.entries(JSON.parse(String(row.records)) as Creation)) {
      const { whole, input } = await invitedRecord(inviting, name, record, id, inviter, run).catch(refuse);
      created[name] = (await whole.create(input, run)).id;
    }
    await run(INVITATIONS_SQL.end_others, [email, String(row.targets)]);
    return { user: id, created };
  });
}

/** The person who accepts learns nothing of the rules for the inviter. */
function refuse(error: unknown): never {
  throw error instanceof Problem && error.status < 500 ? invitationRefused() : error;
}
