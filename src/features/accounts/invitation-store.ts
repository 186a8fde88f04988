import { timeOf } from '../../actions/secret-reply.js';
import type { Store, Stored } from '../../api/managed-endpoints.js';
import type { Principal } from '../../auth/principal.js';
import type { Resource } from '../../collection/resource.js';
import type { Db, Row } from '../../db/db.js';
import { arrayLiteral, fill } from '../../db/statements.js';
import { invalidBody } from '../../errors/input-errors.js';
import type { JsonObject } from '../../json.js';
import { ABOVE_IDS, nextIdentity, parseUuid } from '../../uuid.js';
import { compileOnFirstUse } from '../../validation/validation.js';
import { type AccountServices, invalidReturn, returnAddress } from './account-requests.js';
import { INVITATIONS_SQL } from './accounts-statements.js';
import { inviterUnknown, tooManyInvitations } from './errors.js';
import { invitationSchema } from './invitation-kind.js';
import { type Creation, inviterOf, requireInvitable } from './invitation-records.js';
import type { Language } from './mail-messages.js';
import { CODE_SECONDS } from './mailed-code.js';

/** Invitations of one user in the time that one is open, and those to one address. */
const MAX = { ofUser: 100, toAddress: 3 };

const MAX_BYTES = 8192;

/** No user has this id. */
const NO_USER = '00000000-0000-0000-0000-000000000000';

interface InvitationInput {
  readonly services: AccountServices;
  readonly email: string;
  readonly language: Language;
  readonly create: Creation;
  readonly return?: string;
}

interface Invitation extends Stored {
  readonly members: Readonly<Record<string, unknown>>;
}

/** The invitations of a service with these collections. */
export function storedInvitations(
  resources: readonly Resource[],
): Store<Invitation, InvitationInput, AccountServices, AccountServices> {
  const normalize = { email: ['trim', 'nfc', 'lower'] as const };
  const check = compileOnFirstUse({ schema: invitationSchema(resources), normalize });
  return {
    read: (services, body) => {
      const { language = 'en', ...fields } = check(body).fields as unknown as Omit<
        InvitationInput,
        'services'
      >;
      if (Buffer.byteLength(JSON.stringify(fields.create)) > MAX_BYTES)
        throw invalidBody(`must not have more than ${MAX_BYTES} bytes`, 'maxBytes', '/create');
      return { services, language, ...fields };
    },
    create: async (db, { services, email, language, create, return: given }, caller) => {
      const inviter = await inviterOf(db.run, caller!.subject);
      if (!inviter) throw inviterUnknown();
      // The credential must permit the records now, and the user also whenever the invitation is accepted.
      const { targets, title } = await requireInvitable(
        services.inviting,
        create,
        [caller!, inviter],
        db.run,
      );
      const back = await returnAddress(services, given);
      if (given && back === undefined) throw invalidReturn();
      const { id } = nextIdentity();
      const made = await db.transaction(async (run) => {
        await run(INVITATIONS_SQL.lock_inviter, [inviter.subject]);
        const sent = await run(INVITATIONS_SQL.invite, [
          ...[id, email, inviter.subject, JSON.stringify(create), arrayLiteral(Object.keys(create))],
          ...[arrayLiteral(targets), CODE_SECONDS.invitation, nextIdentity().id, language],
          ...[MAX.ofUser, MAX.toAddress, title, back ?? null],
        ]);
        if (sent.length === 0) throw tooManyInvitations(MAX.ofUser);
        const [row] = await run(invitationsSql('id = $1'), [id, null, 1]);
        return { item: invitationOf(row!), secret: undefined };
      });
      services.outbox.wake();
      return made;
    },
    list: async (db, after, max, caller) =>
      (await db.run(invitationsSql('id < $1'), [after ?? ABOVE_IDS, ownOf(caller), max])).map(invitationOf),
    get: (db, id, caller) => invitation(db, id, caller),
    remove: async ({ db }, id, permit, caller) => {
      const found = await invitation(db, id, caller);
      permit(found);
      if (found) await db.run(INVITATIONS_SQL.withdraw, [id]);
      return found !== undefined;
    },
    shown: ({ members }) => members,
  };
}

const invitationsSql = (which: string): string => fill(INVITATIONS_SQL.invitations, { which });

async function invitation({ run }: Db, id: string, caller: Principal | undefined) {
  const [row] = await run(invitationsSql('id = $1'), [id, ownOf(caller), 1]);
  return row && invitationOf(row);
}

/** The inviter that a caller is limited to; null: the caller sees the invitations of all. */
const ownOf = (caller: Principal | undefined): string | null =>
  !caller || caller.scopes.has('admin') ? null : (parseUuid(caller.subject) ?? NO_USER);

/** An invitation has a second version when it has ended. */
function invitationOf({ id, email, records, inviter, status, ...times }: Row): Invitation {
  const create = JSON.parse(String(records)) as JsonObject;
  const [created_at, expires_at] = [times.created_at, times.expires_at].map((each) => timeOf(Number(each)));
  const members = { id, email, create, inviter_id: inviter, status, created_at, expires_at };
  return { id: String(id), version: status === 'open' ? 1 : 2, members };
}
