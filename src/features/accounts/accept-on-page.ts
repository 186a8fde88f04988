import type { Auth } from '../../feature.js';
import type { Reply } from '../../http/reply.js';
import type { HandledRequest } from '../../http/request.js';
import type { JsonObject } from '../../json.js';
import { type Accepting, accept, type OpenInvitation, openInvitation } from './accept-invitation.js';
import { type AccountServices, admittedInput, codeInUrl, shownFailures } from './account-requests.js';
import { invitationPage, invitationResult } from './invitation-pages.js';
import { languageOf } from './mail-messages.js';
import { pageReply } from './password-pages.js';
import { typedValues } from './sign-up.js';
import { formFields } from './sign-up-pages.js';

export const ACCEPT_PAGE = '/accept-invitation';

export interface InvitationServices extends AccountServices, Accepting {
  /** Finds users that have signed in in a browser; undefined: there are none. */
  readonly session: Auth['session'];
}

/**
 * Responds to requests for the page to which the message leads. The code authorizes the form: only the person with the address has it.
 * After a link from another site a browser sends no cookie of a session, but it sends one with the form. Throws 413 and 429.
 */
export async function acceptOnPage(services: InvitationServices, request: HandledRequest): Promise<Reply> {
  const { req } = request;
  const language = languageOf(req.headers['accept-language']);
  const input = req.method === 'POST' ? await admittedInput(services, request) : undefined;
  const code = input ? input.text('code') : (codeInUrl(request) ?? '');
  const fields = formFields(services.users.resource);
  const signIn =
    services.signInPage &&
    `${services.signInPage}?return=${encodeURIComponent(`${ACCEPT_PAGE}?code=${code}`)}`;
  let found: OpenInvitation | undefined;
  let values: JsonObject = {};
  try {
    found = await openInvitation(services.db, code);
    if (!input) return pageReply(200, invitationPage(language, fields, { ...found, code, signIn, values }));
    values = typedValues(input.values, fields);
    const caller = (await services.session?.(req.headers.cookie))?.subject;
    await accept(services, code, caller, values);
    return pageReply(200, invitationResult(language));
  } catch (error) {
    const [failure] = shownFailures(error);
    const page = found
      ? invitationPage(language, fields, { ...found, code, signIn, values, failure })
      : invitationResult(language, failure);
    return pageReply(found ? 422 : 403, page);
  }
}
