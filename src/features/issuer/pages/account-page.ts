import { type Html, html } from '../../../formats/html.js';
import type { Ways } from '../sign-in-methods.js';
import { errorText, hidden, layout, type PasskeyForm, passkeyForm, timeText } from './page-frame.js';
import { totpSection } from './second-factor-page.js';

/** A session or an application of the user. */
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
  /** Undefined: passkeys are not available. `stale`: the sign-in was too long ago to add one. */
  readonly passkey: PasskeyForm | 'stale' | undefined;
  /** The last changes of the account, the newest first. */
  readonly log: readonly string[];
  /** Whether the service sends messages, which confirm changes. */
  readonly hasMail: boolean;
  readonly message?: string | undefined;
  readonly error?: string | undefined;
}

/** The page that leads a person from another issuer on. */
export const signedInPage = (target: string): string =>
  layout('Signed in', html`<p role="status">You are signed in. <a href="${target}">Continue</a></p>`);

/** The parts of an account that its user can see and change. */
export function accountPage({
  home,
  email,
  ways: { password: hasPassword, app, passkeys, issuers },
  labels,
  csrf,
  sessions,
  grants,
  passkey,
  withheld,
  log,
  hasMail,
  message,
  error,
}: AccountPage): string {
  return layout(
    'Your account',
    html`<p>Signed in as <strong>${email}</strong>. <a href="${home}">To the first page</a></p>
${message !== undefined && html`<p class="note" role="status">${message}</p>`}
${errorText(error)}
${withheld.length > 0 && html`<p class="note">Set up a second factor to use what you may do by ${withheld.join(', ')}.</p>`}
<h2>Applications with access</h2>
${list(grants, csrf, 'revoke', 'Revoke', 'No application has access.')}
<h2>Sessions</h2>
${list(sessions, csrf, 'end-session', 'End', 'There are no other sessions.')}
${
  (passkey !== undefined || passkeys.length > 0) &&
  html`<h2>Passkeys</h2>
${list(passkeys.map(passkeyEntry), csrf, 'remove-passkey', 'Remove', 'There are no passkeys.')}
${passkey === undefined ? '' : passkey === 'stale' ? html`<p>To add a passkey, sign out and sign in again.</p>` : passkeyForm('create', csrf, passkey)}`
}
${totpSection(csrf, app)}
${
  issuers.length > 0 &&
  html`<h2>Sign-in elsewhere</h2>
${list(
  issuers.map(({ id, issuer, added_at }) => ({
    id,
    text: `${labels.get(issuer) ?? issuer}, added ${timeText(added_at)}`,
  })),
  csrf,
  'remove-issuer',
  'Remove',
  '',
)}`
}
${
  hasPassword &&
  html`<h2>Password</h2>
<form method="post">
${hidden('csrf', csrf)}
<input type="email" name="email" autocomplete="username" value="${email}" hidden>
<label for="current">Current password</label>
<input id="current" name="current" type="password" autocomplete="current-password" required>
<label for="password">New password</label>
<input id="password" name="password" type="password" autocomplete="new-password" required>
<button class="main" name="action" value="change-password">Change password</button>
</form>`
}
${hasMail && changeForms(csrf, hasPassword)}
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

function list(entries: readonly Entry[], csrf: string, action: string, label: string, none: string): Html {
  if (entries.length === 0) return html`<p>${none}</p>`;
  const items = entries.map(
    ({ id, text }) => html`<li>${text}
<form method="post">
${hidden('csrf', csrf)}
${hidden('id', id)}
<button name="action" value="${action}" aria-label="${label}: ${text}">${label}</button>
</form></li>\n`,
  );
  return html`<ul>\n${items}</ul>`;
}
