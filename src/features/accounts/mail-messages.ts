import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { html } from '../../formats/html.js';

/** Languages of messages and pages; the first is for people who prefer none of them. */
export const LANGUAGES = ['en', 'de'] as const;
export type Language = (typeof LANGUAGES)[number];

/** A message as it is sent. */
export type Message = Readonly<Record<'subject' | 'text' | 'html', string>>;

/** The use of a code. */
const USE = {
  en: `{{link}}

Or enter this code: {{code}}

Both are valid once, for {{minutes}} minutes.`,
  de: `{{link}}

Oder geben Sie diesen Code ein: {{code}}

Beides gilt einmal, {{minutes}} Minuten lang.`,
};

/**
 * The messages by their purposes: the page to which each leads, and for a message with a code the seconds for which the code is valid. The
 * first line of a text is the subject; empty lines separate paragraphs.
 */
export const MESSAGES = {
  reset: {
    page: '/reset-password',
    seconds: 30 * 60,
    en: `A new password for {{site}}
You can choose a new password for {{site}}:

${USE.en} If you did not request this, you need do nothing.`,
    de: `Ein neues Passwort für {{site}}
Sie können ein neues Passwort für {{site}} wählen:

${USE.de} Wenn Sie das nicht angefordert haben, müssen Sie nichts tun.`,
  },
  changed: {
    page: '/forgotten-password',
    en: `Your password for {{site}} was changed
Your password for {{site}} was changed. All sessions have ended.

If you did not do this, choose a new password: {{link}}`,
    de: `Ihr Passwort für {{site}} wurde geändert
Ihr Passwort für {{site}} wurde geändert. Alle Sitzungen sind beendet.

Wenn Sie das nicht waren, wählen Sie ein neues Passwort: {{link}}`,
  },
  'sign-up': {
    page: '/sign-up',
    seconds: 30 * 60,
    en: `Your account for {{site}}
You can complete your account for {{site}}:

${USE.en} If you did not request this, you need do nothing: there is no account.`,
    de: `Ihr Konto für {{site}}
Sie können Ihr Konto für {{site}} anlegen:

${USE.de} Wenn Sie das nicht angefordert haben, müssen Sie nichts tun: Es gibt kein Konto.`,
  },
  known: {
    page: '/forgotten-password',
    en: `You have an account for {{site}}
A new account for {{site}} was requested with your address. You have one already: sign in as before.

If you have forgotten the password, choose a new one:

{{link}}

If you did not request this, you need do nothing.`,
    de: `Sie haben ein Konto für {{site}}
Mit Ihrer Adresse wurde ein neues Konto für {{site}} angefordert. Sie haben schon eines: Melden Sie sich an wie bisher.

Wenn Sie das Passwort vergessen haben, wählen Sie ein neues:

{{link}}

Wenn Sie das nicht angefordert haben, müssen Sie nichts tun.`,
  },
  factors: {
    page: '/account',
    en: `Your sign-in for {{site}} was changed
An authenticator app, a passkey or another issuer was added to your account at {{site}} or removed from it, or a recovery code was used.

If you did not do this, look at your account, and change your password: {{link}}`,
    de: `Ihre Anmeldung für {{site}} wurde geändert
Zu Ihrem Konto bei {{site}} wurde eine Authenticator-App, ein Passkey oder ein anderer Anbieter hinzugefügt oder davon entfernt, oder ein Wiederherstellungscode wurde benutzt.

Wenn Sie das nicht waren, sehen Sie Ihr Konto an, und ändern Sie Ihr Passwort: {{link}}`,
  },
  invitation: {
    page: '/accept-invitation',
    seconds: 7 * 24 * 3600,
    en: `An invitation to {{site}}
{{inviter}} invites you to {{site}}: {{records}}. You can accept with or without an account:

{{link}}

The link is valid once, for seven days. If you do not know the sender, you need do nothing.`,
    de: `Eine Einladung zu {{site}}
{{inviter}} lädt Sie zu {{site}} ein: {{records}}. Sie können mit und ohne Konto annehmen:

{{link}}

Der Link gilt einmal, sieben Tage lang. Wenn Sie den Absender nicht kennen, müssen Sie nichts tun.`,
  },
  address: {
    page: '/confirm-address',
    seconds: 30 * 60,
    en: `Another address for your account for {{site}}
Another address was requested for an account for {{site}}. The present and the new address must both confirm it:

${USE.en} If you did not request this, do nothing, and change your password if the account is yours.`,
    de: `Eine andere Adresse für Ihr Konto für {{site}}
Für ein Konto für {{site}} wurde eine andere Adresse angefordert. Die bisherige und die neue Adresse müssen sie bestätigen:

${USE.de} Wenn Sie das nicht angefordert haben, tun Sie nichts, und ändern Sie Ihr Passwort, falls es Ihr Konto ist.`,
  },
  removal: {
    page: '/confirm-removal',
    seconds: 30 * 60,
    en: `Delete your account for {{site}}
You can delete your account for {{site}}:

${USE.en} If you did not request this, do nothing, and change your password.`,
    de: `Ihr Konto für {{site}} löschen
Sie können Ihr Konto für {{site}} löschen:

${USE.de} Wenn Sie das nicht angefordert haben, tun Sie nichts, und ändern Sie Ihr Passwort.`,
  },
  moved: {
    page: '/forgotten-password',
    en: `Your account for {{site}} has another address
Your account for {{site}} has another address. This one is no longer in use.

If you did not do this, write to the people who run {{site}}: a new password cannot be requested with this address any more.`,
    de: `Ihr Konto für {{site}} hat eine andere Adresse
Ihr Konto für {{site}} hat eine andere Adresse. Diese hier wird nicht mehr benutzt.

Wenn Sie das nicht waren, schreiben Sie den Betreibern von {{site}}: Ein neues Passwort kann mit dieser Adresse nicht mehr angefordert werden.`,
  },
} as const satisfies Record<string, Record<Language | 'page', string> & { readonly seconds?: number }>;

/** The purposes of messages, and of the ones with a code. */
export type Purpose = keyof typeof MESSAGES;
export type CodeKind = {
  [P in Purpose]: (typeof MESSAGES)[P] extends { seconds: number } ? P : never;
}[Purpose];

/**
 * A message with the text of its purpose: in a folder an operator replaces the text by a file, `reset.en.txt` and so on. A paragraph that is
 * an address is a link in HTML. Users choose some values, such as names: each value stays within its line, and turns no other text around.
 */
export function messageOf(
  folder: string | undefined,
  purpose: Purpose,
  language: Language,
  values: Readonly<Record<string, string>>,
): Message {
  const file = folder && join(folder, `${purpose}.${language}.txt`);
  const isReplaced = file !== undefined && existsSync(file);
  const template = isReplaced ? readFileSync(file, 'utf8').trim() : MESSAGES[purpose][language];
  const fill = (part: string) =>
    part
      .replaceAll(/\{\{(\w+)\}\}/g, (all, name: string) =>
        Object.hasOwn(values, name) ? oneLine(values[name]!) : all,
      )
      .trim();
  const [subject = '', ...lines] = template.split('\n');
  const text = fill(lines.join('\n'));
  const shown = text
    .split(/\n{2,}/)
    .map((part) => html`<p>${part === values.link ? html`<a href="${part}">${part}</a>` : part}</p>\n`);
  return { subject: fill(subject), text, html: html`${shown}`.text };
}

/** A text without control characters, line separators and bidirectional controls. */
export const oneLine = (text: string): string =>
  text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gu, ' ');

/** The first of the languages that a request prefers. */
export function languageOf(acceptLanguage = ''): Language {
  const preferred = acceptLanguage.split(',').map((part) => part.trim().slice(0, 2).toLowerCase());
  return preferred.find((each): each is Language => LANGUAGES.includes(each as Language)) ?? 'en';
}
