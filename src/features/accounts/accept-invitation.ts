import { secretReply } from '../../actions/secret-reply.js';
import type { Run } from '../../db/db.js';
import { Problem } from '../../errors/problem.js';
import { INVITATIONS_SQL } from './accounts-statements.js';
import { codeEnded, invitationOfAnother, invitationRefused, signInRequired } from './errors.js';
import type { Flow } from './flow.js';
import { type Creation, invitedRecord, inviterOf } from './invitation-records.js';
import { oneLine } from './mail-messages.js';
import { findCode, type MailedCode } from './mailed-code.js';
import { newUser } from './new-user.js';
import { formFields } from './new-user-form.js';

/**
 * The acceptance of an invitation. The code authorizes the form: only the person with the address has it. After a link from another site
 * a browser sends no cookie of a session, but it sends one with the form.
 */
export const INVITATION: Flow = {
  kind: 'invitation',
  title: 'Invitation',
  save: 'Accept the invitation',
  done: 'You have accepted the invitation.',
  show: async ({ db, users, signInPage }, code) => {
    const found = await openInvitation(db.run, await findCode(db.run, 'invitation', code));
    const about = [`${oneLine(String(found.inviter))} invites you: ${oneLine(String(found.title))}`];
    return found.owner === null
      ? {
          about: [...about, `Choose a name and a password for ${found.email}.`],
          ...{ fields: formFields(users.resource), hasPassword: true },
        }
      : { about: [...about, `Accept as the user ${found.email}.`], signIn: signInPage };
  },
  /**
   * Creates the records of an invitation, and the user if there is none, in the transaction that also ends the invitation: if anything
   * is refused, the invitation stays open. The inviter must still be permitted, and is the actor.
   */
  use: async ({ services, caller, values }, code) => {
    const { db, users, inviting, hasSignIn, signInPage } = services;
    const { email, owner, inviter_id, records, targets } = await openInvitation(db.run, code);
    if (caller !== undefined && caller !== owner) throw invitationOfAnother();
    if (caller === undefined && (owner !== null || !hasSignIn)) throw signInRequired();
    const create =
      caller === undefined ? await newUser(users.whole, { ...values, email: String(email) }) : undefined;
    return async (run) => {
      const id = create ? await create(run) : caller!;
      const inviter = await inviterOf(run, String(inviter_id));
      if (!inviter) throw invitationRefused();
      const created: Record<string, string> = {};
      for (const [name, record] of Object.entries(JSON.parse(String(records)) as Creation)) {
        const { whole, input } = await invitedRecord(inviting, name, record, id, inviter, run).catch(refuse);
        created[name] = (await whole.create(input, run)).id;
      }
      // In the order of a removal: first the records, then the invitations.
      const ended = await run(INVITATIONS_SQL.accept, [code.about!, caller ?? null]);
      if (ended.length === 0) throw codeEnded();
      await run(INVITATIONS_SQL.end_others, [String(email), String(targets)]);
      const next = caller === undefined && signInPage !== undefined ? `${signInPage}?return=/` : '/';
      return { reply: secretReply(200, { user: id, created }), step: 'done', next };
    };
  },
};

/** An open invitation: its address, the user who has it, and as people read them the inviter and the records. Throws 403. */
async function openInvitation(run: Run, { about }: MailedCode) {
  const [found] = await run(INVITATIONS_SQL.find_invitation, [about!]);
  if (!found) throw codeEnded();
  return found;
}

/** The person who accepts learns nothing of the rules for the inviter. */
function refuse(error: unknown): never {
  throw error instanceof Problem && error.status < 500 ? invitationRefused() : error;
}
