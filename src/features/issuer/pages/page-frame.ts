import {
  Html,
  pageHeaders as headersOfPages,
  hidden,
  html,
  htmlDocument,
  type Part,
} from '../../../formats/html.js';
import type { Reply } from '../../../http/reply.js';

/** Shows the buttons for passkeys where the browser has the API, and submits what it returns. All else works without. */
const SCRIPT = `for (const button of document.querySelectorAll('[data-passkey]')) {
  if (!window.PublicKeyCredential?.parseCreationOptionsFromJSON) continue;
  button.form.hidden = false;
  let isReady = false;
  button.form.addEventListener('submit', async (event) => {
    if (isReady) return;
    event.preventDefault();
    const options = JSON.parse(button.dataset.options);
    try {
      const credential = button.dataset.passkey === 'create'
        ? await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
        : await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
      button.form.elements.response.value = JSON.stringify(credential.toJSON());
      isReady = true;
      button.form.requestSubmit(button);
    } catch {
      button.form.querySelector('[role=status]').textContent = 'The passkey was not used.';
    }
  });
}`;

/** The data with which a page lets a browser create or use a passkey. */
export interface PasskeyForm {
  /** The options of the WebAuthn API, as JSON. */
  readonly options: string;
  /** Binds the response of the browser to these options. */
  readonly token: string;
}

/** The forms of a sign-in. */
export interface SignInForm {
  /** The token of the forms. */
  readonly csrf: string;
  /** The name of the application for which the user signs in; undefined: the account. */
  readonly client?: string;
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

/** A time for people, in UTC: of a text by RFC 3339, or of seconds since 1970. */
export const timeText = (time: string | number): string =>
  (typeof time === 'string' ? time : new Date(time * 1000).toISOString()).slice(0, 16).replace('T', ' ');

/** A narrow page with one purpose. */
export function layout(title: string, body: Html): string {
  return htmlDocument(
    title,
    html`<main class="narrow">
<h1>${title}</h1>
${body}
</main>`,
  );
}

/**
 * The fields of a page, as a flat list of names and values. Its forms may submit to this service, and through a redirect
 * to `redirectUri`.
 */
export function pageHeaders(redirectUri?: string): string[] {
  const formTarget = redirectUri === undefined ? undefined : sourceOf(redirectUri);
  return headersOfPages({ formTarget, script: SCRIPT });
}

/** A page, with further fields. `redirectUri`: where its forms may lead through a redirect. */
export const pageReply = (
  status: number,
  body: string,
  fields: readonly string[] = [],
  redirectUri?: string,
): Reply => ({ status, headers: [...pageHeaders(redirectUri), ...fields], body });

export const redirectReply = (target: string, fields: readonly string[] = []): Reply => ({
  status: 303,
  headers: ['Location', target, 'Cache-Control', 'no-store', ...fields],
});

/** The source expression of a redirect URI that was registered: its origin, or the scheme of a native application. */
export function sourceOf(uri: string): string {
  const { protocol, origin } = new URL(uri);
  return protocol === 'http:' || protocol === 'https:' ? origin : protocol;
}

export const errorText = (message: string | undefined): Part =>
  message !== undefined && html`<p class="error" role="alert">${message}</p>`;
