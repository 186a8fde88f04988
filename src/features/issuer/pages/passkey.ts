import { Html, html } from '../../../formats/html.js';
import { hidden } from './page-frame.js';
import { SCRIPT } from './passkey-script.js';

/** The data with which a page lets a browser create or use a passkey. */
export interface PasskeyForm {
  /** The options of the WebAuthn API, as JSON. */
  readonly options: string;
  /** Binds the response of the browser to these options. */
  readonly token: string;
}

/** A form with one button that creates or uses a passkey, and the script that makes it work. */
export function passkeyForm(use: 'create' | 'get', csrf: string, { options, token }: PasskeyForm): Html {
  const label = use === 'create' ? 'Add a passkey' : 'Sign in with a passkey';
  return html`<form method="post" hidden>
${hidden('csrf', csrf)}
${hidden('token', token)}
${hidden('response', '')}
<button name="action" value="passkey" data-passkey="${use}" data-options="${options}">${label}</button>
<p role="status"></p>
</form>
<script>${new Html(SCRIPT)}</script>`;
}
