import { hidden, html } from '../../../formats/html.js';
import type { AccountLinks } from '../../accounts/settings.js';
import { withImplied } from '../client-scopes.js';
import { errorText, layout, type PasskeyForm, passkeyForm, type SignInForm } from './page-frame.js';

/** Other issuers at which a person can sign in. */
export interface UpstreamLinks {
  readonly buttons: readonly { readonly label: string; readonly href: string }[];
  /** The account that is linked when its user signs in, and the issuer to which. */
  readonly pending: { readonly label: string; readonly email: string } | undefined;
}

/** The form with an email and a password. Links lead to other issuers: the policy of a form would have to name their hosts. */
export function signInPage(
  { client, csrf, hint: email = '' }: SignInForm & { readonly hint?: string },
  { forgotten, signUp }: AccountLinks,
  passkey: PasskeyForm | undefined,
  upstream: UpstreamLinks | undefined,
  error: string | undefined,
): string {
  const pending = upstream?.pending;
  return layout(
    'Sign in',
    html`<p>to ${client === undefined ? 'your account' : html`continue to <strong>${client}</strong>`}</p>
${errorText(error)}
${pending && html`<p class="note" role="status">There is an account with the address ${pending.email}. Sign in to it here once: then it is connected with ${pending.label}, and you can sign in there from now on.</p>`}
<form method="post">
${hidden('csrf', csrf)}
<label for="email">Email</label>
<input id="email" name="email" type="email" autocomplete="username" required value="${pending?.email ?? email}">
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required>
<button class="main" name="action" value="sign-in">Sign in</button>
${forgotten !== undefined && html`<p><a href="${forgotten}">Forgotten password?</a></p>`}
${signUp !== undefined && html`<p><a href="${signUp}">Create an account</a></p>`}
${client !== undefined && html`<button name="action" value="cancel" formnovalidate>Cancel</button>`}
</form>
${passkey && passkeyForm('get', csrf, passkey)}
${upstream?.buttons.map(
  ({ label, href }) => html`<p><a class="button" href="${href}">Sign in with ${label}</a></p>
`,
)}`,
  );
}

/** The meanings of scopes, as the consent page shows them. */
const MEANINGS: Readonly<Record<string, string>> = {
  openid: 'know who you are',
  email: 'read your email address',
  profile: 'read your name',
  offline_access: 'stay connected when you have signed out',
  self: 'read your account, and read, change and delete your own records, but not change your email or password, or delete your account',
  'self:delete': 'delete your account with all your records',
  'users:write': 'read, change and delete all users, and set their passwords',
  'events:read': 'follow changes of records that it may read',
  admin: 'administer this service: read and change everything, and create keys that never expire',
};

/**
 * The question whether the client may act for the user with the email `account`. `scopes`: of those that the client requests, the ones
 * that the user may allow.
 */
export function consentPage(
  client: string,
  csrf: string,
  account: string,
  scopes: readonly string[],
): string {
  const items = named(scopes).map((scope) => html`<li>${meaningOf(scope)}</li>\n`);
  return layout(
    'Allow access',
    html`<p><strong>${client}</strong> asks to act for ${account}:</p>
<ul>
${items}</ul>
<form method="post">
${hidden('csrf', csrf)}
<button class="main" name="action" value="allow">Allow</button>
<button name="action" value="cancel">Deny</button>
</form>`,
  );
}

/** Scopes without those that others of them imply, whose meanings include these. */
const named = (scopes: readonly string[]): readonly string[] =>
  scopes.filter((scope) => !withImplied(scopes.filter((other) => other !== scope)).has(scope));

function meaningOf(scope: string): string {
  const [collection, verb] = scope.split(':');
  if (Object.hasOwn(MEANINGS, scope)) return MEANINGS[scope]!;
  if (verb === 'write') return `read, change and delete ${collection}`;
  return verb === 'read' ? `read ${collection}` : `do what the scope ${scope} permits`;
}
