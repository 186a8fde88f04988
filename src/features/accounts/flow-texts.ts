import type { Language } from './mail-messages.js';
import type { CodeKind } from './mailed-code.js';

/** The texts of all flows. Names in capitals are the codes of errors. */
export const COMMON = {
  en: {
    email: 'Email',
    send: 'Send the message',
    haveCode: 'Enter the code from the message',
    code: 'Code from the message',
    password: 'Password, of 8 characters or more',
    again: 'Request another message',
    signIn: 'Sign in',
    continue: 'Continue',
    invites: 'invites you',
    CODE_ENDED: 'The code has expired or was used. Request another message.',
  },
  de: {
    email: 'E-Mail',
    send: 'Nachricht senden',
    haveCode: 'Code aus der Nachricht eingeben',
    code: 'Code aus der Nachricht',
    password: 'Passwort, mindestens 8 Zeichen',
    again: 'Neue Nachricht anfordern',
    signIn: 'Anmelden',
    continue: 'Weiter',
    invites: 'lädt Sie ein',
    CODE_ENDED: 'Der Code ist abgelaufen oder wurde benutzt. Fordern Sie eine neue Nachricht an.',
  },
} as const satisfies Record<Language, Record<string, string>>;

/** The texts of one flow. */
export interface FlowTexts {
  readonly title: string;
  /** Of the page that requests a message, and of the one after that. */
  readonly ask?: string;
  readonly sent?: string;
  /** Above the form with the code. */
  readonly text?: string;
  readonly save: string;
  /** In place of `text` and `save` for a person who has an account. */
  readonly memberText?: string;
  readonly memberSave?: string;
  /** After the first one of two codes. */
  readonly half?: string;
  readonly done: string;
  /** The reasons of failures by the codes of errors. */
  readonly reasons?: Readonly<Record<string, string>>;
}

export const FLOW_TEXTS: Readonly<Record<CodeKind, Readonly<Record<Language, FlowTexts>>>> = {
  reset: {
    en: {
      title: 'New password',
      ask: 'Enter the address of your account. You get a message with a link, with which you choose a new password.',
      sent: 'If there is an account with this address, a message with a link is on its way. The link is valid for 30 minutes.',
      save: 'Save the password',
      done: 'The password is saved. All sessions have ended: sign in with the new password.',
    },
    de: {
      title: 'Neues Passwort',
      ask: 'Geben Sie die Adresse Ihres Kontos ein. Sie erhalten eine Nachricht mit einem Link, mit dem Sie ein neues Passwort wählen.',
      sent: 'Wenn es ein Konto mit dieser Adresse gibt, ist eine Nachricht mit einem Link unterwegs. Der Link gilt 30 Minuten.',
      save: 'Passwort speichern',
      done: 'Das Passwort ist gespeichert. Alle Sitzungen sind beendet: Melden Sie sich mit dem neuen Passwort an.',
    },
  },
  'sign-up': {
    en: {
      title: 'Create an account',
      ask: 'Enter your address. You get a message with a link, with which you complete your account.',
      sent: 'A message is on its way to this address. Its link is valid for 30 minutes. If you have an account already, the message says so.',
      save: 'Create the account',
      done: 'Your account is ready. Sign in with your address and the password.',
    },
    de: {
      title: 'Konto anlegen',
      ask: 'Geben Sie Ihre Adresse ein. Sie erhalten eine Nachricht mit einem Link, mit dem Sie Ihr Konto anlegen.',
      sent: 'Eine Nachricht an diese Adresse ist unterwegs. Ihr Link gilt 30 Minuten. Wenn Sie schon ein Konto haben, steht das in der Nachricht.',
      save: 'Konto anlegen',
      done: 'Ihr Konto ist bereit. Melden Sie sich mit Ihrer Adresse und dem Passwort an.',
    },
  },
  invitation: {
    en: {
      title: 'Invitation',
      text: 'There is no account with this address yet. Choose a name and a password.',
      save: 'Create the account and accept',
      memberText: 'Accept as the user with this address.',
      memberSave: 'Accept',
      done: 'You have accepted the invitation.',
      reasons: {
        CODE_ENDED: 'The invitation was accepted or withdrawn, or has expired.',
        INVITATION_OF_ANOTHER:
          'You are signed in as another user. Sign out, and open the link of the message again.',
        INVITATION_REFUSED: 'The person who invited you may not do so any more.',
        SIGN_IN_REQUIRED: 'Sign in as the user with this address first.',
        DUPLICATE: 'You have what the invitation is for already.',
      },
    },
    de: {
      title: 'Einladung',
      text: 'Mit dieser Adresse gibt es noch kein Konto. Wählen Sie einen Namen und ein Passwort.',
      save: 'Konto anlegen und annehmen',
      memberText: 'Nehmen Sie als Benutzer mit dieser Adresse an.',
      memberSave: 'Annehmen',
      done: 'Sie haben die Einladung angenommen.',
      reasons: {
        CODE_ENDED: 'Die Einladung wurde angenommen oder zurückgezogen, oder sie ist abgelaufen.',
        INVITATION_OF_ANOTHER:
          'Sie sind als ein anderer Benutzer angemeldet. Melden Sie sich ab, und öffnen Sie den Link der Nachricht erneut.',
        INVITATION_REFUSED: 'Die Person, die Sie eingeladen hat, darf das nicht mehr.',
        SIGN_IN_REQUIRED: 'Melden Sie sich zuerst als der Benutzer mit dieser Adresse an.',
        DUPLICATE: 'Sie haben bereits, wozu die Einladung gilt.',
      },
    },
  },
  address: {
    en: {
      title: 'Another address',
      text: 'This changes the address of your account. You get a message at the present address and at the new one: confirm both.',
      save: 'Confirm',
      half: 'Confirmed. Now use the link in the message to the other address.',
      done: 'The address of your account has changed.',
    },
    de: {
      title: 'Andere Adresse',
      text: 'Damit ändern Sie die Adresse Ihres Kontos. Sie erhalten eine Nachricht an die bisherige und an die neue Adresse: Bestätigen Sie beide.',
      save: 'Bestätigen',
      half: 'Bestätigt. Benutzen Sie nun den Link in der Nachricht an die andere Adresse.',
      done: 'Die Adresse Ihres Kontos ist geändert.',
    },
  },
  removal: {
    en: {
      title: 'Delete the account',
      text: 'This deletes your account and all that belongs to it, for good.',
      save: 'Delete the account',
      done: 'The account is deleted.',
    },
    de: {
      title: 'Konto löschen',
      text: 'Damit löschen Sie Ihr Konto und alles, was dazu gehört, endgültig.',
      save: 'Konto löschen',
      done: 'Das Konto ist gelöscht.',
    },
  },
};
