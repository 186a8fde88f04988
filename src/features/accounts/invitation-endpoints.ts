import { json, objectOf, TEXT } from '../../api/doc.js';
import { at, type Endpoint } from '../../api/endpoint.js';
import { managedEndpoints } from '../../api/managed-endpoints.js';
import type { Resource } from '../../collection/resource.js';
import { JSON_TYPE } from '../../http/media-types.js';
import type { Reply } from '../../http/reply.js';
import type { Request } from '../../http/request.js';
import type { JsonObject } from '../../json.js';
import { compileOnFirstUse } from '../../validation/validation.js';
import { accept, INVITATION } from './accept-invitation.js';
import { type AccountServices, programReply } from './account-requests.js';
import { pagesOf } from './endpoints.js';
import { invitationKind } from './invitation-kind.js';
import { storedInvitations } from './invitation-store.js';

const ACCEPTANCE = {
  type: 'object',
  required: ['code'],
  additionalProperties: false,
  properties: {
    code: { type: 'string', maxLength: 40 },
    user: {
      type: 'object',
      description: 'Without a credential: the name, the password and other fields of a new user.',
    },
  },
} as const;

const checkAcceptance = compileOnFirstUse({ schema: ACCEPTANCE, normalize: {} });

/** The endpoints of invitations in a service with these collections. */
export function invitationEndpoints(resources: readonly Resource[]): Endpoint<AccountServices>[] {
  return [
    ...managedEndpoints(invitationKind(resources), storedInvitations(resources)),
    {
      ...at('POST', '/invitations/accept', 'optional'),
      notInBatch: 'invitations',
      doc: {
        id: 'acceptInvitation',
        tag: 'invitations',
        summary: 'Accept an invitation by the code in its message: as the caller, or as a new user',
        body: { [JSON_TYPE]: 'Acceptance' },
        success: {
          200: json('The user, and the ids of the records by their collections.', 'Accepted', [
            'Cache-Control',
          ]),
        },
        errors: [
          'VALIDATION_ERROR',
          'CODE_ENDED',
          'SIGN_IN_REQUIRED',
          'INVITATION_OF_ANOTHER',
          'INVITATION_REFUSED',
          'FIELDS_DENIED',
          'DUPLICATE',
          'FIELD_TAKEN',
        ],
      },
      schemas: () => ({
        Acceptance: ACCEPTANCE as unknown as JsonObject,
        Accepted: objectOf({ user: TEXT, created: { type: 'object', additionalProperties: TEXT } }),
      }),
      run: acceptByCode,
    },
    ...pagesOf(INVITATION),
  ];
}

async function acceptByCode(services: AccountServices, { body, principal }: Request): Promise<Reply> {
  const { code, user = {} } = checkAcceptance(body?.value).fields as { code: string; user?: JsonObject };
  const caller = principal.scheme === 'none' ? undefined : principal.subject;
  return programReply(200, await accept(services, code, caller, user));
}
