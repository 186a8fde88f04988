import { html } from '../../formats/html.js';
import type { Language } from './mail-messages.js';
import { accountPage, codeInput, FORM_TEXTS, faultText } from './password-pages.js';

/** The changes of an account that its user confirms by a code. */
export type ChangeKind = 'address' | 'removal';

const TEXTS = {
  en: {
    ended: 'The code has expired or was used. Request another message on the page of your account.',
    half: 'Confirmed. Now use the link in the message to the other address.',
    account: 'To your account',
    address: {
      title: 'Another address',
      text: 'This changes the address of your account. You get a message at the present address and at the new one: confirm both.',
      button: 'Confirm',
      done: 'The address of your account has changed.',
    },
    removal: {
      title: 'Delete the account',
      text: 'This deletes your account and all that belongs to it, for good.',
      button: 'Delete the account',
      done: 'The account is deleted.',
    },
  },
  de: {
    ended:
      'Der Code ist abgelaufen oder wurde benutzt. Fordern Sie auf der Seite Ihres Kontos eine neue Nachricht an.',
    half: 'Bestätigt. Benutzen Sie nun den Link in der Nachricht an die andere Adresse.',
    account: 'Zu Ihrem Konto',
    address: {
      title: 'Andere Adresse',
      text: 'Damit ändern Sie die Adresse Ihres Kontos. Sie erhalten eine Nachricht an die bisherige und an die neue Adresse: Bestätigen Sie beide.',
      button: 'Bestätigen',
      done: 'Die Adresse Ihres Kontos ist geändert.',
    },
    removal: {
      title: 'Konto löschen',
      text: 'Damit löschen Sie Ihr Konto und alles, was dazu gehört, endgültig.',
      button: 'Konto löschen',
      done: 'Das Konto ist gelöscht.',
    },
  },
} as const satisfies Record<Language, object>;

/** The state of the page on which a person confirms a change of the account. */
export interface ChangeState {
  readonly code: string;
  /** The new address of the account, if the code is for one. */
  readonly address?: string | undefined;
  readonly reason?: 'ended' | 'half' | 'done' | { readonly fault: string };
}

/** The page on which a person confirms a change of the account. A link alone changes nothing: programs open links, too. */
export function confirmationPage(
  language: Language,
  kind: ChangeKind,
  { code, address, reason }: ChangeState,
): string {
  const text = TEXTS[language];
  const { title, text: explanation, button, done } = text[kind];
  const body =
    reason === 'done' || reason === 'half'
      ? html`<p role="status">${reason === 'done' ? done : text.half}</p>`
      : html`${faultText(reason === 'ended' ? text.ended : reason?.fault)}<p>${explanation}</p>
${address !== undefined && html`<p><strong>${address}</strong></p>`}
<form method="post" action="/confirm-${kind}">
<label for="code">${FORM_TEXTS[language].code}</label>
${codeInput(code)}
<button class="main">${button}</button>
</form>`;
  return accountPage(language, title, html`${body}\n<p><a href="/account">${text.account}</a></p>`);
}
