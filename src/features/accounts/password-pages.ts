import { type Html, html, htmlDocument, type Part, pageHeaders } from '../../formats/html.js';
import type { Reply } from '../../http/reply.js';
import type { Language } from './mail-messages.js';

const TEXTS = {
  en: {
    forgotten: 'Forgotten password',
    ask: 'Enter the address of your account. You get a message with a link, with which you choose a new password.',
    sent: 'If there is an account with this address, a message with a link is on its way. The link is valid for 30 minutes.',
    email: 'Email',
    send: 'Send the message',
    choose: 'New password',
    code: 'Code from the message',
    password: 'New password, of 8 characters or more',
    save: 'Save the password',
    ended: 'The code has expired or was used. Request another message.',
    done: 'The password is saved. All sessions have ended: sign in with the new password.',
    refused: 'The password',
    again: 'Request another message',
    signIn: 'Sign in',
  },
  de: {
    forgotten: 'Passwort vergessen',
    ask: 'Geben Sie die Adresse Ihres Kontos ein. Sie erhalten eine Nachricht mit einem Link, mit dem Sie ein neues Passwort wählen.',
    sent: 'Wenn es ein Konto mit dieser Adresse gibt, ist eine Nachricht mit einem Link unterwegs. Der Link gilt 30 Minuten.',
    email: 'E-Mail',
    send: 'Nachricht senden',
    choose: 'Neues Passwort',
    code: 'Code aus der Nachricht',
    password: 'Neues Passwort, mindestens 8 Zeichen',
    save: 'Passwort speichern',
    ended: 'Der Code ist abgelaufen oder wurde benutzt. Fordern Sie eine neue Nachricht an.',
    done: 'Das Passwort ist gespeichert. Alle Sitzungen sind beendet: Melden Sie sich mit dem neuen Passwort an.',
    refused: 'Das Passwort',
    again: 'Neue Nachricht anfordern',
    signIn: 'Anmelden',
  },
} as const satisfies Record<Language, Record<string, string>>;

export const pageReply = (status: number, body: string): Reply => ({ status, headers: pageHeaders(), body });

/** The page on which a person requests a message; `sent`: after that. */
export function forgottenPage(language: Language, state: 'ask' | 'sent'): string {
  const text = TEXTS[language];
  if (state === 'sent') return accountPage(language, text.forgotten, html`<p role="status">${text.sent}</p>`);
  return accountPage(
    language,
    text.forgotten,
    html`<p>${text.ask}</p>
<form method="post" action="/forgotten-password">
<label for="email">${text.email}</label>
<input id="email" name="email" type="email" autocomplete="username" required maxlength="254">
<button class="main">${text.send}</button>
</form>`,
  );
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
  if (reason === 'done') return accountPage(language, text.choose, doneText(text, signIn));
  const fault = reason === 'ended' ? text.ended : reason ? `${text.refused} ${reason.password}.` : undefined;
  return accountPage(
    language,
    text.choose,
    html`${faultText(fault)}<form method="post" action="/reset-password">
<label for="code">${text.code}</label>
${codeInput(code)}
<label for="password">${text.password}</label>
<input id="password" name="password" type="password" autocomplete="new-password" required minlength="8" maxlength="256">
<button class="main">${text.save}</button>
</form>
<p><a href="/forgotten-password">${text.again}</a></p>`,
  );
}

/** A page of accounts. */
export const accountPage = (language: Language, title: string, body: Html): string =>
  htmlDocument(title, html`<main class="narrow">\n<h1>${title}</h1>\n${body}\n</main>`, undefined, language);

/** The end of a form, with the way to the page on which people sign in. */
export const doneText = (text: Readonly<Record<'done' | 'signIn', string>>, page: string | undefined): Html =>
  html`<p role="status">${text.done}</p>${page !== undefined && html`\n<p><a href="${page}">${text.signIn}</a></p>`}`;

/** Why the last attempt failed; undefined: nothing failed. */
export const faultText = (fault: string | undefined): Part =>
  fault !== undefined && html`<p class="error" role="alert">${fault}</p>\n`;

/** The input for a code, which a link has filled in. */
export const codeInput = (code: string): Html =>
  html`<input id="code" name="code" autocomplete="one-time-code" required maxlength="40" value="${code}">`;
