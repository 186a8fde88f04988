import { html } from '../../formats/html.js';
import type { Language } from './mail-messages.js';
import { accountPage, codeForm, FORM_TEXTS } from './password-pages.js';

/** The changes of an account that its user confirms by a code. */
export type ChangeKind = 'address' | 'removal';

const TEXTS = {
  en: {
    half: 'Confirmed. Now use the link in the message to the other address.',
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
    code: 'Code aus der Nachricht',
    ended:
      'Der Code ist abgelaufen oder wurde benutzt. Fordern Sie auf der Seite Ihres Kontos eine neue Nachricht an.',
    half: 'Bestätigt. Benutzen Sie nun den Link in der Nachricht an die andere Adresse.',
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
  if (reason === 'done' || reason === 'half') {
    const outcome = reason === 'done' ? done : text.half;
    return accountPage(language, title, html`<p role="status">${outcome}</p>`);
  }
  const faults = reason === 'ended' ? [FORM_TEXTS[language].ended] : reason ? [reason.fault] : [];
  const form = { action: `/confirm-${kind}`, again: '/account', faults, code, save: button };
  const named = address !== undefined && html`<p><strong>${address}</strong></p>`;
  return accountPage(language, title, html`<p>${explanation}</p>${named}\n${codeForm(language, form)}`);
}
