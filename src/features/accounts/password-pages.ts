import { type Html, html, htmlDocument, type Part, pageHeaders } from '../../formats/html.js';
import type { Reply } from '../../http/reply.js';
import type { Language } from './mail-messages.js';

/** The texts of all forms with codes of messages. */
export const FORM_TEXTS = {
  en: {
    email: 'Email',
    send: 'Send the message',
    code: 'Code from the message',
    ended: 'The code has expired or was used. Request another message.',
    again: 'Request another message',
    signIn: 'Sign in',
  },
  de: {
    email: 'E-Mail',
    send: 'Nachricht senden',
    code: 'Code aus der Nachricht',
    ended: 'Der Code ist abgelaufen oder wurde benutzt. Fordern Sie eine neue Nachricht an.',
    again: 'Neue Nachricht anfordern',
    signIn: 'Anmelden',
  },
} as const satisfies Record<Language, Record<string, string>>;

const TEXTS = {
  en: {
    forgotten: 'Forgotten password',
    ask: 'Enter the address of your account. You get a message with a link, with which you choose a new password.',
    sent: 'If there is an account with this address, a message with a link is on its way. The link is valid for 30 minutes.',
    choose: 'New password',
    password: 'New password, of 8 characters or more',
    save: 'Save the password',
    done: 'The password is saved. All sessions have ended: sign in with the new password.',
    refused: 'The password',
  },
  de: {
    forgotten: 'Passwort vergessen',
    ask: 'Geben Sie die Adresse Ihres Kontos ein. Sie erhalten eine Nachricht mit einem Link, mit dem Sie ein neues Passwort wählen.',
    sent: 'Wenn es ein Konto mit dieser Adresse gibt, ist eine Nachricht mit einem Link unterwegs. Der Link gilt 30 Minuten.',
    choose: 'Neues Passwort',
    password: 'Neues Passwort, mindestens 8 Zeichen',
    save: 'Passwort speichern',
    done: 'Das Passwort ist gespeichert. Alle Sitzungen sind beendet: Melden Sie sich mit dem neuen Passwort an.',
    refused: 'Das Passwort',
  },
} as const satisfies Record<Language, Record<string, string>>;

export const pageReply = (status: number, body: string): Reply => ({ status, headers: pageHeaders(), body });

/** The page on which a person requests a message; `sent`: after that. */
export function forgottenPage(language: Language, state: 'ask' | 'sent'): string {
  const text = TEXTS[language];
  const body =
    state === 'sent'
      ? html`<p role="status">${text.sent}</p>`
      : addressForm(language, '/forgotten-password', text.ask);
  return accountPage(language, text.forgotten, body);
}

/** The state of the form with a new password. */
interface ResetState {
  readonly code: string;
  /** Why the last attempt failed, or that it succeeded. */
  readonly reason?: 'ended' | 'done' | { readonly password: string };
  /** The page on which people sign in, for the end. */
  readonly signIn?: string | undefined;
}

/** The page on which a person chooses a new password. */
export function resetPage(language: Language, { code, reason, signIn }: ResetState): string {
  const text = TEXTS[language];
  if (reason === 'done') return accountPage(language, text.choose, doneText(language, text.done, signIn));
  const faults =
    reason === 'ended' ? [FORM_TEXTS[language].ended] : reason ? [`${text.refused} ${reason.password}.`] : [];
  const paths = { action: '/reset-password', again: '/forgotten-password' };
  const body = codeForm(language, { ...paths, faults, code, password: text.password, save: text.save });
  return accountPage(language, text.choose, body);
}

/** The form with which a person requests a message. */
export const addressForm = (language: Language, action: string, ask: string, fault?: string): Html =>
  html`${faultText(fault)}<p>${ask}</p>
<form method="post" action="${action}">
<label for="email">${FORM_TEXTS[language].email}</label>
<input id="email" name="email" type="email" autocomplete="username" required maxlength="254">
<button class="main">${FORM_TEXTS[language].send}</button>
</form>`;

interface CodeForm {
  readonly action: string;
  /** The page that requests another message. */
  readonly again: string;
  readonly faults: readonly string[];
  /** As a link has it. */
  readonly code: string;
  readonly fields?: Part;
  /** The label of the password, if the form has one. */
  readonly password?: string;
  /** The text of the button. */
  readonly save: string;
}

export const passwordInput = (label: string): Html => html`<label for="password">${label}</label>
<input id="password" name="password" type="password" autocomplete="new-password" required minlength="8" maxlength="256">`;

/** The form with the code of a message, fields, and perhaps a password. */
export const codeForm = (
  language: Language,
  { action, again, faults, code, fields, password, save }: CodeForm,
): Html => html`${faults.map(faultText)}<form method="post" action="${action}">
<label for="code">${FORM_TEXTS[language].code}</label>
<input id="code" name="code" autocomplete="one-time-code" required maxlength="40" value="${code}">
${fields}${password !== undefined && passwordInput(password)}
<button class="main">${save}</button>
</form>
<p><a href="${again}">${FORM_TEXTS[language].again}</a></p>`;

/** A page of accounts. */
export const accountPage = (language: Language, title: string, body: Html): string =>
  htmlDocument(title, html`<main class="narrow">\n<h1>${title}</h1>\n${body}\n</main>`, undefined, language);

/** The end of a form, with the way to the page on which people sign in. */
export const doneText = (language: Language, done: string, page: string | undefined): Html =>
  html`<p role="status">${done}</p>${page !== undefined && html`\n<p><a href="${page}">${FORM_TEXTS[language].signIn}</a></p>`}`;

/** Why the last attempt failed; undefined: nothing failed. */
export const faultText = (fault: string | undefined): Part =>
  fault !== undefined && html`<p class="error" role="alert">${fault}</p>\n`;
