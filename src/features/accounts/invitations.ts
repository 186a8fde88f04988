import { timeOf } from '../../actions/secret-reply.js';
import { ID, type Schema, TEXT, TIME } from '../../api/doc.js';
import type { Kind } from '../../api/kind.js';
import type { Store, Stored } from '../../api/managed-endpoints.js';
import type { Principal } from '../../auth/principal.js';
import type { Resource } from '../../collection/resource.js';
import type { Db, Row } from '../../db/db.js';
import { arrayLiteral, fill } from '../../db/statements.js';
import { invalidBody } from '../../errors/input-errors.js';
import type { JsonObject } from '../../json.js';
import { ABOVE_IDS, nextIdentity, parseUuid } from '../../uuid.js';
import { compileOnFirstUse } from '../../validation/validation.js';
import {
  type AccountServices,
  EMAIL,
  invalidReturn,
  NORMALIZED_EMAIL,
  returnAddress,
} from './account-requests.js';
import { INVITATIONS_SQL } from './accounts-statements.js';
import { inviterUnknown, tooManyInvitations } from './errors.js';
import { type Creation, inviterOf, requireInvitable } from './invitation-records.js';
import { LANGUAGES, type Language, MESSAGES } from './mail-messages.js';

/** Records that one invitation creates: one of each collection. */
const MAX_RECORDS = 10;

/** Invitations of one user in the time that one is open, and those to one address. */
const MAX = { ofUser: 100, toAddress: 3 };

const MAX_BYTES = 8192;

/** No user has this id. */
const NO_USER = '00000000-0000-0000-0000-000000000000';

/** The schema of a new invitation in a service with these collections. */
const schemaOf = (invited: readonly Resource[]) => ({
  type: 'object' as const,
  required: ['email', 'create'],
  additionalProperties: false as const,
  properties: {
    email: EMAIL,
    language: { enum: [...LANGUAGES] },
    return: { type: 'string', description: 'The page of your application to which the person returns.' },
    create: {
      type: 'object',
      description:
        'The records that are created when the person accepts, by collection, without the reference to the user.',
      minProperties: 1,
      maxProperties: MAX_RECORDS,
      additionalProperties: false,
      properties: Object.fromEntries(invited.map(({ name }) => [name, { type: 'object' }])),
    },
  },
});

/** Invitations for records of these collections. Any caller sees its own, operators see all. */
export function invitationKind(invited: readonly Resource[]): Kind {
  const schema = schemaOf(invited);
  return {
    path: '/invitations',
    type: 'Invitation',
    singular: 'invitation',
    one: 'an invitation',
    many: 'invitations',
    order: 'newest first',
    limit: 100,
    homeLink: { name: 'invitations', position: 13 },
    requires: 'credential',
    about:
      'What a person gets by accepting a message. The caller sees its own invitations, with the scope `admin` all.',
    creationErrors: [
      'INVITER_UNKNOWN',
      'TOO_MANY_INVITATIONS',
      'ACCESS_DENIED',
      ['PARENT_NOT_FOUND', 'envelope', 422],
    ],
    input: () => schema,
    members: () => ({
      id: ID,
      email: TEXT,
      create: schema.properties.create as unknown as Schema,
      inviter_id: ID,
      status: { type: 'string', enum: ['open', 'accepted', 'withdrawn', 'expired'] },
      created_at: TIME,
      expires_at: TIME,
    }),
    page: {
      columns: ['email', 'status', 'created_at', 'expires_at'],
      user: 'inviter_id',
      removal: 'Revoke',
      inputs: () => ({
        language: { title: 'Language of the message' },
        return: { title: 'Page to return to' },
        create: {
          title: 'Invited as',
          // Several are alternatives, of which a person enters one.
          required: invited.length === 1 ? invited.map(({ name }) => name) : [],
          properties: Object.fromEntries(invited.map((each) => [each.name, formSchema(each)])),
        },
      }),
    },
  };
}

/** The fields of a record that an inviter sets. */
function formSchema({ schema, singular, readOnly, importOnly, invited }: Resource): object {
  const omitted = [...readOnly, ...importOnly, invited];
  const properties = Object.entries(schema.properties).filter(([name]) => !omitted.includes(name));
  const required = schema.required.filter((name) => !omitted.includes(name));
  return { ...schema, title: singular, required, properties: Object.fromEntries(properties) };
}

interface InvitationInput {
  readonly services: AccountServices;
  readonly email: string;
  readonly language?: Language;
  readonly create: Creation;
  readonly return?: string;
}

interface Invitation extends Stored {
  readonly members: Readonly<Record<string, unknown>>;
}

/** The invitations for records of these collections. */
export function storedInvitations(
  invited: readonly Resource[],
): Store<Invitation, InvitationInput, AccountServices, AccountServices> {
  const check = compileOnFirstUse({ schema: schemaOf(invited), normalize: NORMALIZED_EMAIL });
  return {
    read: (services, body) => {
      const fields = check(body).fields as unknown as Omit<InvitationInput, 'services'>;
      if (Buffer.byteLength(JSON.stringify(fields.create)) > MAX_BYTES)
        throw invalidBody(`must not have more than ${MAX_BYTES} bytes`, 'maxBytes', '/create');
      return { services, ...fields };
    },
    create: async (db, { services, email, language = 'en', create, return: given }, caller) => {
      const inviter = await inviterOf(db.run, caller!.subject);
      if (!inviter) throw inviterUnknown();
      // The credential must permit the records now, and the user also whenever the invitation is accepted.
      const { targets, title } = await requireInvitable(services.inviting, create, caller!, db.run);
      await requireInvitable(services.inviting, create, inviter, db.run);
      const back = await returnAddress(services, given);
      if (given && back === undefined) throw invalidReturn();
      const { id } = nextIdentity();
      const made = await db.transaction(async (run) => {
        await run(INVITATIONS_SQL.lock_inviter, [inviter.subject]);
        const sent = await run(INVITATIONS_SQL.invite, [
          ...[id, email, inviter.subject, JSON.stringify(create), arrayLiteral(Object.keys(create))],
          ...[arrayLiteral(targets), MESSAGES.invitation.seconds, nextIdentity().id, language],
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
    get: invitation,
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
