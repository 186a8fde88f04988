import { json, objectOf, TEXT } from '../../api/doc.js';
import { at, type Endpoint } from '../../api/endpoint.js';
import { managedEndpoints } from '../../api/managed-endpoints.js';
import type { Resource } from '../../collection/resource.js';
import { badRequest } from '../../errors/request-errors.js';
import { JSON_TYPE } from '../../http/media-types.js';
import type { JsonObject } from '../../json.js';
import { compileOnFirstUse } from '../../validation/validation.js';
import { INVITATION } from './accept-invitation.js';
import { ADDRESS, REMOVAL, RESET, SIGN_UP } from './account-changes.js';
import type { AccountServices } from './account-requests.js';
import { type Flow, responding, useCode } from './flow.js';
import { invitationKind, storedInvitations } from './invitations.js';
import { MESSAGES } from './mail-messages.js';

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

/** The pages and requests of people with a code, or without a way to sign in. `invited`: the collections for whose records people invite. */
export function endpointsOf(hasSignUp: boolean, invited: readonly Resource[]): Endpoint<AccountServices>[] {
  const flows = [RESET, ADDRESS, REMOVAL, ...(hasSignUp ? [SIGN_UP] : [])];
  if (invited.length === 0) return flows.flatMap(pagesOf);
  return [
    ...[...flows, INVITATION].flatMap(pagesOf),
    ...managedEndpoints(invitationKind(invited), storedInvitations(invited)),
    ACCEPT,
  ];
}

/** The endpoints of the pages of a flow. */
const pagesOf = (flow: Flow): Endpoint<AccountServices>[] =>
  [...new Set([MESSAGES[flow.kind].page, ...(flow.ask ? [flow.again!] : [])])].flatMap((path) =>
    (['GET', 'POST'] as const).map((method) => ({
      method,
      path,
      requires: 'nothing' as const,
      handle: responding(flow, path),
      run: () => {
        throw badRequest('A batch cannot contain requests about accounts.');
      },
    })),
  );

const ACCEPT: Endpoint<AccountServices> = {
  ...at('POST', '/invitations/accept', 'optional'),
  notInBatch: 'invitations',
  doc: {
    id: 'acceptInvitation',
    tag: 'invitations',
    summary: 'Accept an invitation by the code in its message: as the caller, or as a new user',
    body: { [JSON_TYPE]: 'Acceptance' },
    success: {
      200: json('The user, and the ids of the records by their collections.', 'Accepted', ['Cache-Control']),
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
  run: async (services, { body, principal }) => {
    const { code, user = {} } = checkAcceptance(body?.value).fields as { code: string; user?: JsonObject };
    const caller = principal.scheme === 'none' ? undefined : principal.subject;
    return (await useCode(INVITATION, { services, caller, values: user, language: 'en' }, code)).reply;
  },
};
