import type { Client, ErrorOut, KoaContextWithOIDC } from 'oidc-provider';
import { Html, hidden, html } from '../../../formats/html.js';
import { PATHS } from '../paths.js';
import { errorText, layout, pageHeaders } from './page-frame.js';

const ACTION = PATHS.code_verification;

/** The form for a device's code, again with the reason after an error. */
export async function showDeviceEntry(
  ctx: KoaContextWithOIDC,
  _form: string,
  out?: ErrorOut,
  error?: Error & { userCode?: string },
): Promise<void> {
  const { session } = ctx.oidc;
  if (out && session?.exp === undefined) {
    // The session is new and has no cookie, so it cannot be stored, and a form of it would be refused.
    Object.assign(session!, { touched: false });
    return showError(ctx, out);
  }
  const reason = out && (REASONS[error?.name ?? ''] ?? out.error_description ?? 'This did not work.');
  // Guesses are limited by it.
  if (error?.name === 'NotFoundError') ctx.status = 422;
  show(
    ctx,
    'Connect a device',
    html`${errorText(reason)}
<form method="post" action="${ACTION}">
${csrfOf(ctx)}
<label for="user_code">The code that your device shows</label>
<input id="user_code" name="user_code" autocomplete="off" autocapitalize="characters" required value="${error?.userCode ?? ''}">
<button class="main">Continue</button>
</form>`,
  );
}

const REASONS: Readonly<Record<string, string>> = {
  NoCodeError: 'Enter the code that your device shows.',
  NotFoundError: 'There is no such code. Compare it with the one on your device.',
  ExpiredError: 'The code has expired. Start again on your device.',
  AlreadyUsedError: 'The code has been used. Start again on your device.',
  AbortedError: 'The device was not connected.',
};

/** The question whether the device shows this code. */
export async function showDeviceConfirmation(
  ctx: KoaContextWithOIDC,
  _form: string,
  client: Client,
  _device: unknown,
  userCode: string,
): Promise<void> {
  show(
    ctx,
    'Connect a device',
    html`<p><strong>${nameOf(client)}</strong> asks for access. Continue only if your device shows this code:</p>
<p><code class="big">${userCode}</code></p>
<form method="post" action="${ACTION}">
${csrfOf(ctx)}
${hidden('user_code', userCode)}
${hidden('confirm', 'yes')}
<button class="main">Continue</button>
<button name="abort" value="yes">Cancel</button>
</form>`,
  );
}

export async function showDeviceSuccess(ctx: KoaContextWithOIDC): Promise<void> {
  const name = nameOf(ctx.oidc.client!);
  show(ctx, 'Device connected', html`<p><strong>${name}</strong> is connected. You can close this page.</p>`);
}

/** The question whether to sign out. `form` is HTML of oidc-provider with the id `op.logoutForm`, its token and no button. */
export async function showSignOut(ctx: KoaContextWithOIDC, form: string): Promise<void> {
  const { post_logout_redirect_uri: target } = ctx.oidc.params ?? {};
  const body = html`<p>Do you want to sign out?</p>
${new Html(form)}
<button class="main" form="op.logoutForm" name="logout" value="yes">Sign out</button>
<button form="op.logoutForm">Stay signed in</button>`;
  show(ctx, 'Sign out', body, typeof target === 'string' ? target : undefined);
}

export async function showSignedOut(ctx: KoaContextWithOIDC): Promise<void> {
  show(ctx, 'Signed out', html`<p>You can close this page.</p>`);
}

/** An error of the authorization server, with its code by RFC 6749. */
export const errorPage = (code: string, description = ''): string =>
  layout('This did not work', html`${errorText(description)}<p>${code}</p>`);

/** An error that cannot be returned to the client. */
export async function showError(ctx: KoaContextWithOIDC, out: ErrorOut): Promise<void> {
  setFields(ctx, pageHeaders());
  ctx.body = errorPage(out.error, out.error_description);
}

/** The name of a client for people. */
export const nameOf = ({ clientName, clientId }: Client) => clientName ?? clientId;

/** The token that oidc-provider stores in the session and expects in the forms of the device flow. */
const csrfOf = ({ oidc }: KoaContextWithOIDC): Html =>
  hidden('xsrf', String(oidc.session?.state?.secret ?? ''));

/** `redirectUri`: where a form of the page leads in the end. */
function show(ctx: KoaContextWithOIDC, title: string, body: Html, redirectUri?: string): void {
  setFields(ctx, pageHeaders(redirectUri));
  ctx.body = layout(title, body);
}

/** Sets the fields of a flat list of names and values. */
export function setFields(ctx: KoaContextWithOIDC, fields: readonly string[]): void {
  for (let at = 0; at < fields.length; at += 2) ctx.set(fields[at]!, fields[at + 1]!);
}
