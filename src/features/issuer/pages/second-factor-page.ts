import { Html, html } from '../../../formats/html.js';
import type { Ways } from '../sign-in-methods.js';
import { errorText, hidden, layout, type PasskeyForm, passkeyForm, timeText } from './page-frame.js';

interface SecondStepPage {
  readonly csrf: string;
  readonly client: string | undefined;
  readonly hasTotp: boolean;
  readonly passkey: PasskeyForm | undefined;
  readonly error: string | undefined;
}

/** The page on which a user who has signed in by password proves the second factor. */
export function secondStepPage({ csrf, client, hasTotp, passkey, error }: SecondStepPage): string {
  const none = html`<p>This needs a second factor. Set one up on <a href="/account">your account page</a>, then <a href="">continue here</a>.</p>`;
  const other = passkey ? html`<p>Use your passkey.<noscript> It needs JavaScript.</noscript></p>` : none;
  return layout(
    'Second step',
    html`<p>to continue to ${client === undefined ? 'your account' : html`<strong>${client}</strong>`}</p>
${errorText(error)}
<form method="post">
${hidden('csrf', csrf)}
${hasTotp ? codeField('Code from your authenticator app, or a recovery code', 'Continue', 'code') : other}
<button name="action" value="${client === undefined ? 'sign-out' : 'cancel'}" formnovalidate>${client === undefined ? 'Sign out' : 'Cancel'}</button>
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

/** The part of the page of a user about the authenticator app. */
export function totpSection(csrf: string, app: Ways['app']): Html {
  const [text, action, label] = app
    ? [
        `Added ${timeText(app.added_at)}, with ${app.recovery_codes} recovery codes.`,
        'remove-totp',
        'Remove the app',
      ]
    : ['There is no authenticator app.', 'begin-totp', 'Set up an authenticator app'];
  return html`<h2>Authenticator app</h2>
<p>${text}</p>
<form method="post">
${hidden('csrf', csrf)}
<button name="action" value="${action}">${label}</button>
</form>`;
}
