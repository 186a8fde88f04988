import type { Db } from '../../db/db.js';
import { Problem } from '../../errors/problem.js';
import type { JsonObject } from '../../json.js';
import { type AccountServices, programReply } from './account-requests.js';
import { INVITATIONS_SQL } from './accounts-statements.js';
import { codeEnded, invitationOfAnother, invitationRefused, signInRequired } from './errors.js';
import type { Flow } from './flow.js';
import { COMMON } from './flow-texts.js';
import { type Creation, invitedRecord, inviterOf } from './invitation-records.js';
import { oneLine } from './mail-messages.js';
import { findCode, useCode } from './mailed-code.js';
import { newUser } from './new-user.js';
import { formFields } from './new-user-form.js';

/**
 * The acceptance of an invitation. The code authorizes the form: only the person with the address has it. After a link from another site
 * a browser sends no cookie of a session, but it sends one with the form.
 */
export const INVITATION: Flow = {
  kind: 'invitation',
  path: '/accept-invitation',
  show: async ({ db, users, signInPage }, code, language) => {
    const { email, owner, inviter, title } = await openInvitation(db, code);
    const about = [`${inviter} ${COMMON[language].invites}: ${title}`, email];
    if (owner === undefined) return { about, fields: formFields(users.resource), hasPassword: true };
    return { about, isMember: true, signIn: signInPage };
  },
  use: async ({ services, request, code, values }) => {
    const caller = (await services.session?.(request.req.headers.cookie))?.subject;
    const accepted = await accept(services, code, caller, values);
    const signIn = caller === undefined ? services.signInPage : undefined;
    const next = signIn === undefined ? '/' : `${signIn}?return=/`;
    return { reply: programReply(200, accepted), end: 'done', next };
  },
};

/** The address of an open invitation, the user who has it, and as people read them the inviter and the records. Throws 403. */
async function openInvitation(db: Db, code: string) {
  const { about } = await findCode(db, 'invitation', code);
  const [found] = await db.run(INVITATIONS_SQL.find_invitation, [about!]);
  if (!found) throw codeEnded();
  const [email, inviter, title] = [
    String(found.email),
    oneLine(String(found.inviter)),
    oneLine(String(found.title)),
  ];
  return { email, inviter, title, owner: found.owner === null ? undefined : String(found.owner) };
}

/**
 * Creates the records of an invitation, and the user if there is none, in one transaction that also ends the invitation: if anything
 * is refused, the invitation stays open. The inviter must still be permitted, and is the actor. `fields`: of a new user, if there is no
 * caller. Resolves to the user, and the ids of the records by their collections. Throws 400, 403, 409.
 */
export async function accept(
  { db, users, inviting, hasSignIn }: AccountServices,
  code: string,
  caller: string | undefined,
  fields: JsonObject,
): Promise<{ user: string; created: Readonly<Record<string, string>> }> {
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
