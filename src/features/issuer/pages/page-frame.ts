import {
  type Html,
  pageHeaders as headersOfPages,
  html,
  htmlDocument,
  type Part,
} from '../../../formats/html.js';
import { SCRIPT_SOURCE } from './passkey.js';

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
  return headersOfPages({ formTarget, script: SCRIPT_SOURCE });
}

/** The source expression of a redirect URI that was registered: its origin, or the scheme of a native application. */
export function sourceOf(uri: string): string {
  const { protocol, origin } = new URL(uri);
  return protocol === 'http:' || protocol === 'https:' ? origin : protocol;
}

export const errorText = (message: string | undefined): Part =>
  message !== undefined && html`<p class="error" role="alert">${message}</p>`;
