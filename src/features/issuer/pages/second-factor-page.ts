import { Html, hidden, html } from '../../../formats/html.js';
import { errorText, layout, type PasskeyForm, passkeyForm, type SignInForm } from './page-frame.js';

/** The page on which a user who has signed in by password proves the second factor. */
export function secondStepPage(
  { csrf, client }: SignInForm,
  hasTotp: boolean,
  passkey: PasskeyForm | undefined,
  error: string | undefined,
): string {
  const [target, cancel, leave] =
    client === undefined
      ? ['your account', 'sign-out', 'Sign out']
      : [html`<strong>${client}</strong>`, 'cancel', 'Cancel'];
  const none = html`<p>This needs a second factor. Set one up on <a href="/account">your account page</a>, then <a href="">continue here</a>.</p>`;
  const other = passkey ? html`<p>Use your passkey.<noscript> It needs JavaScript.</noscript></p>` : none;
  return layout(
    'Second step',
    html`<p>to continue to ${target}</p>
${errorText(error)}
<form method="post">
${hidden('csrf', csrf)}
${hasTotp ? codeField('Code from your authenticator app, or a recovery code', 'Continue', 'code') : other}
<button name="action" value="${cancel}" formnovalidate>${leave}</button>
</form>
${passkey && passkeyForm('get', csrf, passkey)}`,
  );
}

const codeField = (
  label: string,
  button: string,
  action: string,
): Html => html`<label for="code">${label}</label>
<input id="code" name="code" autocomplete="one-time-code" autocapitalize="none" spellcheck="false" required maxlength="40">
<button class="main" name="action" value="${action}">${button}</button>`;

/** A secret that a user adds to an app. */
export interface Enrolment {
  /** In base32, as people type it. */
  readonly secret: string;
  /** The link that apps open. */
  readonly uri: string;
  /** The link as a QR code. */
  readonly svg: string;
}

/** The page on which a user adds the account to an authenticator app. */
export function enrolmentPage(csrf: string, { secret, uri, svg }: Enrolment, error?: string): string {
  const shown = svg.replace(
    '<svg ',
    '<svg width="220" height="220" role="img" aria-label="QR code of the secret" ',
  );
  return layout(
    'Authenticator app',
    html`<p>Scan this code with your authenticator app, or <a href="${uri}">open the app on this device</a>, or type the secret into it.</p>
<p>${new Html(shown)}</p>
<p><code class="big">${secret.match(/.{1,4}/g)!.join(' ')}</code></p>
${errorText(error)}
<form method="post">
${hidden('csrf', csrf)}
${hidden('secret', secret)}
${codeField('Code that the app shows', 'Confirm', 'confirm-totp')}
</form>
<p><a href="/account">Back to your account</a></p>`,
  );
}

/** The page that shows recovery codes, once. */
export const recoveryCodesPage = (codes: readonly string[]): string =>
  layout(
    'Recovery codes',
    html`<p role="status">From now on you sign in with a code of your authenticator app. If you lose the app, each of these codes replaces it once. Store them safely: they are not shown again.</p>
<ul>
${codes.map((code) => html`<li><code>${code}</code></li>\n`)}</ul>
<p><a class="button main" href="/account">To your account</a></p>`,
  );
