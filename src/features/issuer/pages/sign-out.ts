import { Html, html } from '../../../formats/html.js';
import { layout } from './layout.js';

/** The question whether to sign out. `form` is HTML with the id `op.logoutForm` and no button. */
export function signOutPage(form: string): string {
  return layout(
    'Sign out',
    html`<p>Do you want to sign out?</p>
${new Html(form)}
<button class="main" form="op.logoutForm" name="logout" value="yes">Sign out</button>
<button form="op.logoutForm">Stay signed in</button>`,
  );
}

export const signedOutPage = () => layout('Signed out', html`<p>You can close this page.</p>`);
