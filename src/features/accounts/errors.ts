import { define } from '../../errors/problem.js';

export const accountUnknown = define('ACCOUNT_UNKNOWN', 403, {
  message: 'The subject of the access token is no user of this service.',
  cause:
    'With USERS_FROM_ISSUER=known, a token is accepted for a user that exists with the same verified email address.',
  remedy: 'Have an administrator create a user with the email address of the token.',
});

export const accountExists = define('ACCOUNT_EXISTS', 403, {
  message: 'A user with the address or another unique value of the token exists, and is not linked to it.',
  cause:
    'The user has a password, a passkey or another link: a link to the subject of the token could take over the account.',
  remedy: 'Sign in as that user, or have an administrator remove one of the two.',
});

export const accountIncomplete = define('ACCOUNT_INCOMPLETE', 403, {
  message: 'The claims of the access token are not enough to make a user.',
  cause:
    'Required fields of users have no value, or an invalid one, with the failures in details. An address without `email_verified: true` is none.',
  remedy:
    'Have the issuer put the missing claims, such as email and email_verified, into access tokens, or map others by USER_CLAIMS.',
  example: [[{ path: '', message: 'must have the property email', keyword: 'required' }]],
  make: (details: unknown) => ({ details }),
});

export const codeEnded = define('CODE_ENDED', 403, {
  message: 'The code has expired or was used.',
  cause:
    'A code of a message is valid once, for a limited time. A new password and another address of the user end it.',
  remedy: 'Request another message.',
});

export const signUpRefused = define('SIGN_UP_REFUSED', 403, {
  message: 'People with this address cannot sign up.',
  cause: 'The domain of the address is not in SIGN_UP_DOMAINS.',
  remedy: 'Sign up with an address of a permitted domain, or have an administrator create the user.',
});

export const inviterUnknown = define('INVITER_UNKNOWN', 403, {
  message: 'Only users of this service can invite.',
  cause:
    'The subject of the credential is no user, and an invitation needs one that is permitted until it is accepted.',
  remedy: 'Invite with a credential whose subject is the id of a user.',
});

export const tooManyInvitations = define('TOO_MANY_INVITATIONS', 429, {
  message: 'Too many invitations were made.',
  cause: 'A user makes at most details.limit invitations in seven days, three to one address.',
  remedy: 'Wait for the seconds in Retry-After.',
  example: [100],
  make: (limit: number) => ({ details: { limit }, headers: ['Retry-After', '3600'] }),
});

export const invitationOfAnother = define('INVITATION_OF_ANOTHER', 403, {
  message: 'The invitation is for another address than yours.',
  cause: 'The email address of the caller is not the one to which the invitation was sent.',
  remedy: 'Sign in as the user with that address.',
});

export const signInRequired = define('SIGN_IN_REQUIRED', 403, {
  message: 'Sign in to accept the invitation.',
  cause: 'A user has the address of the invitation, or users of this service have no passwords.',
  remedy: 'Accept with a credential of the user with that address.',
});

export const invitationRefused = define('INVITATION_REFUSED', 403, {
  message: 'What the invitation is for is not permitted any more.',
  cause: 'The inviter may not create the records any more, or the rules for these records have changed.',
  remedy: 'Request another invitation, from a user that is permitted.',
});
