import { ID, type Schema, TEXT, TIME } from '../../api/doc.js';
import type { Kind } from '../../api/kind.js';
import type { Resource } from '../../collection/resource.js';
import { LANGUAGES } from './mail-messages.js';

/** Records that one invitation creates: one of each collection. */
const MAX_RECORDS = 10;

const isByInvitation = ({ invited }: Resource): boolean => invited !== undefined;

/** The schema of a new invitation in a service with these collections. */
export const invitationSchema = (resources: readonly Resource[]) => ({
  type: 'object' as const,
  required: ['email', 'create'],
  additionalProperties: false as const,
  properties: {
    email: { type: 'string', format: 'email', maxLength: 254 },
    language: { enum: [...LANGUAGES] },
    return: { type: 'string', description: 'The page of your application to which the person returns.' },
    create: {
      type: 'object',
      description:
        'The records that are created when the person accepts, by collection, without the reference to the user.',
      minProperties: 1,
      maxProperties: MAX_RECORDS,
      additionalProperties: false,
      properties: Object.fromEntries(
        resources.filter(isByInvitation).map(({ name }) => [name, { type: 'object' }]),
      ),
    },
  },
});

/** Invitations. Any caller sees its own, operators see all. */
export function invitationKind(resources: readonly Resource[]): Kind {
  const schema = invitationSchema(resources);
  const invited = resources.filter(isByInvitation);
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
