import { type Html, hidden, html, type Part } from '../../../formats/html.js';
import type { Ways } from '../sign-in-ways.js';
import { errorText, layout, type PasskeyForm, passkeyForm, timeText } from './page-frame.js';

/** A row of a section: a session, an application, or a way to sign in. */
export interface Entry {
  readonly id: string;
  readonly text: string;
}

export interface AccountPage {
  /** The address of the service's first page. */
  readonly home: string;
  readonly email: string;
  readonly csrf: string;
  readonly sessions: readonly Entry[];
  /** The applications to which the user allowed access. */
  readonly grants: readonly Entry[];
  readonly ways: Ways;
  /** The names of other issuers, as far as they have one. */
  readonly labels: ReadonlyMap<string, string>;
  /** Scopes that the user lacks as long as it has no second factor. */
  readonly withheld: readonly string[];
  /** Undefined: passkeys are not available. False: the sign-in was too long ago to add one. */
  readonly passkey: PasskeyForm | false | undefined;
  /** The last changes of the account, the newest first. */
  readonly log: readonly string[];
  /** Whether the service sends messages, which confirm changes. */
  readonly hasMail: boolean;
  readonly message?: string;
  readonly error?: string | undefined;
}

/** The page that leads a person from another issuer on. */
export const signedInPage = (target: string): string =>
  layout('Signed in', html`<p role="status">You are signed in. <a href="${target}">Continue</a></p>`);

/** The parts of an account that its user can see and change. */
export function accountPage(page: AccountPage): string {
  const { home, email, csrf, withheld, log, hasMail, ways, labels, passkey, message, error } = page;
  const list = (...given: Given) => section(csrf, ...given);
  return layout(
    'Your account',
    html`<p>Signed in as <strong>${email}</strong>. <a href="${home}">To the first page</a></p>
${message !== undefined && html`<p class="note" role="status">${message}</p>`}
${errorText(error)}
${withheld.length > 0 && html`<p class="note">Set up a second factor to use what you may do by ${withheld.join(', ')}.</p>`}
${list('Applications with access', page.grants, 'revoke', 'Revoke', 'No application has access.')}
${list('Sessions', page.sessions, 'end-session', 'End', 'There are no other sessions.')}
${list('Passkeys', ways.passkeys.map(passkeyEntry), 'remove-passkey', 'Remove', passkey !== undefined && 'There are no passkeys.')}
${passkey === false ? html`<p>To add a passkey, sign out and sign in again.</p>` : passkey && passkeyForm('create', csrf, passkey)}
${list('Authenticator app', ways.app ? [appEntry(ways.app)] : [], 'remove-totp', 'Remove', 'There is no authenticator app.')}
${!ways.app && html`<form method="post">${hidden('csrf', csrf)}<button name="action" value="begin-totp">Set up an authenticator app</button></form>`}
${list('Sign-in elsewhere', ways.issuers.map(issuerEntry(labels)), 'remove-issuer', 'Remove', false)}
${ways.password && passwordForm(csrf, email)}
${hasMail && changeForms(csrf, ways.password)}
<h2>Last changes</h2>
${log.length === 0 ? html`<p>There are none.</p>` : html`<ul>\n${log.map((each) => html`<li>${each}</li>\n`)}</ul>`}
<p><a href="/account?download" download>What this account contains, as JSON</a></p>
<form method="post">
${hidden('csrf', csrf)}
<button name="action" value="sign-out">Sign out</button>
</form>`,
  );
}

const passkeyEntry = ({ id, added_at, only_after_password: isSecond }: Ways['passkeys'][number]): Entry => ({
  id,
  text: `Added ${timeText(added_at)}${isSecond ? ', valid only after the password' : ''}`,
});

const appEntry = ({ added_at, recovery_codes: codes }: NonNullable<Ways['app']>): Entry => ({
  id: '',
  text: `Added ${timeText(added_at)}, with ${codes} recovery codes.`,
});

const issuerEntry =
  (labels: ReadonlyMap<string, string>) =>
  ({ id, issuer, added_at }: Ways['issuers'][number]): Entry => ({
    id,
    text: `${labels.get(issuer) ?? issuer}, added ${timeText(added_at)}`,
  });

/** `none`: the text in place of an empty list; false: the section is absent. */
type Given = [title: string, entries: readonly Entry[], action: string, label: string, none: string | false];

/** A list of which the user can remove each row. */
function section(csrf: string, ...[title, entries, action, label, none]: Given): Part {
  if (entries.length === 0 && none === false) return undefined;
  const items = entries.map(
    ({ id, text }) => html`<li>${text}
<form method="post">
${hidden('csrf', csrf)}
${hidden('id', id)}
<button name="action" value="${action}" aria-label="${label}: ${text}">${label}</button>
</form></li>\n`,
  );
  return html`<h2>${title}</h2>
${items.length === 0 ? html`<p>${none}</p>` : html`<ul>\n${items}</ul>`}`;
}

const passwordForm = (csrf: string, email: string): Html => html`<h2>Password</h2>
<form method="post">
${hidden('csrf', csrf)}
<input type="email" name="email" autocomplete="username" value="${email}" hidden>
<label for="current">Current password</label>
<input id="current" name="current" type="password" autocomplete="current-password" required>
<label for="password">New password</label>
<input id="password" name="password" type="password" autocomplete="new-password" required>
<button class="main" name="action" value="change-password">Change password</button>
</form>`;

/** The forms for changes that messages confirm. */
function changeForms(csrf: string, hasPassword: boolean): Html {
  const current = (id: string) =>
    hasPassword &&
    html`<label for="${id}">Current password</label>
<input id="${id}" name="current" type="password" autocomplete="current-password" required>
`;
  return html`<h2>Address</h2>
<form method="post">
${hidden('csrf', csrf)}
<label for="email">New address</label>
<input id="email" name="email" type="email" autocomplete="email" required maxlength="254">
${current('address-password')}<button name="action" value="change-address">Send messages to change the address</button>
</form>
<h2>Delete the account</h2>
<form method="post">
${hidden('csrf', csrf)}
${current('removal-password')}<button class="danger" name="action" value="delete-account">Send a message to delete the account</button>
</form>
`;
}
