import type { Failure } from '../../errors/problem.js';
import { html, type Part } from '../../formats/html.js';
import { type JsonObject, member } from '../../json.js';
import type { OpenInvitation } from './accept-invitation.js';
import type { Language } from './mail-messages.js';
import { accountPage, faultText, passwordInput } from './password-pages.js';
import { type Field, fieldInput } from './sign-up-pages.js';

const TEXTS = {
  en: {
    title: 'Invitation',
    for: 'This invitation is for',
    join: 'Accept as the user with this address.',
    accept: 'Accept',
    create: 'There is no account with this address yet. Choose a name and a password.',
    password: 'Password, of 8 characters or more',
    createAndAccept: 'Create the account and accept',
    signIn: 'Sign in',
    accepted: 'You have accepted the invitation.',
    continue: 'Continue',
    CODE_ENDED: 'The invitation was accepted or withdrawn, or has expired.',
    INVITATION_OF_ANOTHER:
      'You are signed in as another user. Sign out, and open the link of the message again.',
    INVITATION_REFUSED: 'The person who invited you may not do so any more.',
    SIGN_IN_REQUIRED: 'Sign in as the user with this address first.',
    DUPLICATE: 'You have what the invitation is for already.',
    other: 'The invitation was not accepted:',
  },
  de: {
    title: 'Einladung',
    for: 'Diese Einladung gilt für',
    join: 'Nehmen Sie als Benutzer mit dieser Adresse an.',
    accept: 'Annehmen',
    create: 'Mit dieser Adresse gibt es noch kein Konto. Wählen Sie einen Namen und ein Passwort.',
    password: 'Passwort, mindestens 8 Zeichen',
    createAndAccept: 'Konto anlegen und annehmen',
    signIn: 'Anmelden',
    accepted: 'Sie haben die Einladung angenommen.',
    continue: 'Weiter',
    CODE_ENDED: 'Die Einladung wurde angenommen oder zurückgezogen, oder sie ist abgelaufen.',
    INVITATION_OF_ANOTHER:
      'Sie sind als ein anderer Benutzer angemeldet. Melden Sie sich ab, und öffnen Sie den Link der Nachricht erneut.',
    INVITATION_REFUSED: 'Die Person, die Sie eingeladen hat, darf das nicht mehr.',
    SIGN_IN_REQUIRED: 'Melden Sie sich zuerst als der Benutzer mit dieser Adresse an.',
    DUPLICATE: 'Sie haben bereits, wozu die Einladung gilt.',
    other: 'Die Einladung wurde nicht angenommen:',
  },
} as const satisfies Record<Language, Record<string, string>>;

export interface InvitationState extends OpenInvitation {
  readonly code: string;
  /** Where a user signs in; undefined: by an application alone. */
  readonly signIn: string | undefined;
  readonly values: JsonObject;
  /** Why the last attempt failed. */
  readonly failure?: Failure;
}

/** The page on which a person accepts an invitation by one button, or with a new account. */
export function invitationPage(
  language: Language,
  fields: readonly Field[],
  { code, email, owner, signIn, values, failure }: InvitationState,
): string {
  const text = TEXTS[language];
  const isKnown = owner !== undefined;
  const entry = html`<p>${text.create}</p>
${fields.map((field) => [fieldInput(field, String(member(values, field.name) ?? '')), '\n'])}
${passwordInput(text.password)}`;
  return accountPage(
    language,
    text.title,
    html`${refusal(language, failure)}<p>${text.for} <strong>${email}</strong>.</p>
<form method="post" action="/accept-invitation">
<input type="hidden" name="code" value="${code}">
${isKnown ? html`<p>${text.join}</p>` : entry}
<button class="main">${isKnown ? text.accept : text.createAndAccept}</button>
</form>
${isKnown && signIn !== undefined && html`<p><a href="${signIn}">${text.signIn}</a></p>`}`,
  );
}

/** The page after a person has accepted an invitation, or about one that has ended. */
export function invitationResult(language: Language, failure?: Failure): string {
  const text = TEXTS[language];
  const done = html`<p role="status">${text.accepted}</p>\n<p><a href="/">${text.continue}</a></p>`;
  return accountPage(language, text.title, html`${failure ? refusal(language, failure) : done}`);
}

/** A failure in a language, as far as the service has a text for it. */
function refusal(language: Language, failure: Failure | undefined): Part {
  if (!failure) return undefined;
  const { path, message, keyword } = failure;
  const text: Readonly<Record<string, string>> = TEXTS[language];
  return faultText(text[keyword] ?? `${text.other} ${path.slice(1)} ${message}`);
}
