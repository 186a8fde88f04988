import { type Html, html } from '../../../formats/html.js';
import { errorText, hidden, layout, type PasskeyForm, passkeyForm } from './page-frame.js';

export interface SignInPage {
  /** The name of the client for which the user signs in. */
  readonly client: string;
  /** The token of the form. */
  readonly csrf: string;
  readonly email: string;
  /** Why the last attempt failed. */
  readonly error: string | undefined;
  /** Undefined: passkeys are not available. */
  readonly passkey: PasskeyForm | undefined;
}

/** The form with an email and a password. */
export function signInPage({ client, csrf, email, error, passkey }: SignInPage): string {
  return layout(
    'Sign in',
    html`<p>to continue to <strong>${client}</strong></p>
${errorText(error)}
<form method="post">
${signInFields(csrf, email)}
<button name="action" value="cancel" formnovalidate>Cancel</button>
</form>
${passkey && passkeyForm('get', csrf, passkey)}`,
  );
}

/** The fields and the button of a form with which a user signs in by password. */
export const signInFields = (csrf: string, email: string): Html => html`${hidden('csrf', csrf)}
<label for="email">Email</label>
<input id="email" name="email" type="email" autocomplete="username" required value="${email}">
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required>
<button class="main" name="action" value="sign-in">Sign in</button>`;
