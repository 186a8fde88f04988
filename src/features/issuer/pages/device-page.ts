import { html } from '../../../formats/html.js';
import { errorText, hidden, layout } from './page-frame.js';

/** The form for the code that a device shows. `action` is its address, `csrf` its token. */
export function deviceEntryPage(action: string, csrf: string, code: string, error?: string): string {
  return layout(
    'Connect a device',
    html`${errorText(error)}
<form method="post" action="${action}">
${hidden('xsrf', csrf)}
<label for="user_code">The code that your device shows</label>
<input id="user_code" name="user_code" autocomplete="off" autocapitalize="characters" required value="${code}">
<button class="main">Continue</button>
</form>`,
  );
}

/** The question whether the device shows this code. */
export function deviceConfirmationPage(action: string, csrf: string, client: string, code: string): string {
  return layout(
    'Connect a device',
    html`<p><strong>${client}</strong> asks for access. Continue only if your device shows this code:</p>
<p><code class="big">${code}</code></p>
<form method="post" action="${action}">
${hidden('xsrf', csrf)}
${hidden('user_code', code)}
${hidden('confirm', 'yes')}
<button class="main">Continue</button>
<button name="abort" value="yes">Cancel</button>
</form>`,
  );
}

export const deviceSuccessPage = (client: string) =>
  layout('Device connected', html`<p><strong>${client}</strong> is connected. You can close this page.</p>`);

/** An error of the authorization server, with its code by RFC 6749. */
export const errorPage = (code: string, description: string) =>
  layout('This did not work', html`${errorText(description)}<p>${code}</p>`);
