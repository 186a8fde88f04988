import { isDeepStrictEqual } from 'node:util';
import type { Principal } from '../../auth/principal.js';
import { storedPassword } from '../../collection/password-writes.js';
import type { Db, Run } from '../../db/db.js';
import { fieldsDenied } from '../../errors/caller-errors.js';
import { invalidBody } from '../../errors/input-errors.js';
import { Problem } from '../../errors/problem.js';
import type { Collection, ScopedCollection } from '../../feature.js';
import type { JsonObject } from '../../json.js';
import { grantsFor } from '../../policy/policy.js';
import { INVITATIONS_SQL } from './accounts-statements.js';
import { codeEnded, invitationOfAnother, invitationRefused, signInRequired } from './errors.js';
import {
  type Creation,
  collectionOf,
  type Inviting,
  invitedRecord,
  inviterOf,
} from './invitation-records.js';
import { findCode, useCode } from './mailed-code.js';

export interface Accepting {
  readonly db: Db;
  readonly users: ScopedCollection;
  readonly inviting: Inviting;
  /** Whether people can sign in with a password. */
  readonly hasSignIn: boolean;
}

/** A person with the code of an invitation: a user, or one who becomes a user with these fields. */
export interface Acceptance {
  readonly code: string;
  readonly caller: string | undefined;
  readonly fields: JsonObject;
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
 * is refused, the invitation stays open. The inviter must still be permitted. Throws 400, 403, 409.
 */
export async function accept(
  { db, users, inviting, hasSignIn }: Accepting,
  { code, caller, fields }: Acceptance,
): Promise<Accepted> {
  const { email, owner } = await openInvitation(db, code);
  if (caller !== undefined && caller !== owner) throw invitationOfAnother();
  if (caller === undefined && (owner !== undefined || !hasSignIn)) throw signInRequired();
  const user = caller === undefined ? await newUser(users.whole, { ...fields, email }) : undefined;
  return db.transaction(async (run) => {
    const { about } = await useCode(run, 'invitation', code);
    const [row] = await run(INVITATIONS_SQL.accept, [about!, caller ?? null]);
    if (!row) throw codeEnded();
    const id = user ? (await users.whole.create(user, run)).id : caller!;
    const inviter = await inviterOf(run, String(row.inviter));
    if (!inviter) throw invitationRefused();
    const created: Record<string, string> = {};
    for (const [name, record] of Object.entries(JSON.parse(String(row.records)) as Creation))
      created[name] = await create(inviting, name, { ...record }, id, inviter, run);
    await run(INVITATIONS_SQL.end_others, [email, String(row.targets)]);
    return { user: id, created };
  });
}

/** The actor of the change is the inviter, whose grant permits it. */
async function create(
  inviting: Inviting,
  name: string,
  record: JsonObject,
  userId: string,
  inviter: Principal,
  run: Run,
): Promise<string> {
  const scoped = collectionOf(inviting, name);
  if (!scoped) throw invitationRefused();
  const input = await invitedRecord(inviting, name, record, userId, inviter, run).catch((error) => {
    // The person who accepts learns nothing of the rules for the inviter.
    throw error instanceof Problem && error.status < 500 ? invitationRefused() : error;
  });
  return (await scoped.whole.create(input, run)).id;
}

/** A new user who chooses its name and password, and the fields that it could also change afterwards by `self` alone. */
async function newUser(users: Collection, fields: JsonObject) {
  const { resource } = users;
  const self = { subject: '', scopes: new Set(['self']), scheme: 'session', expiresAt: undefined } as const;
  const own = grantsFor(resource, 'update', resource, self).filter(
    ({ where }) => where === undefined || isDeepStrictEqual(where, { id: '$caller' }),
  );
  const isOpen = (name: string) => own.some((grant) => !grant.fields || grant.fields.includes(name));
  const denied = Object.keys(fields).filter(
    (name) => !['email', 'name', 'password'].includes(name) && !isOpen(name),
  );
  if (denied.length > 0) throw fieldsDenied(denied);
  const input = users.check(fields);
  if (input.password === undefined) throw invalidBody('must have the property password', 'required');
  return { ...input, passwordHash: await storedPassword(input) };
}
