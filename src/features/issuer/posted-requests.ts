import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Provider } from 'oidc-provider';
import { unsupportedMediaType } from '../../errors/input-errors.js';
import { Html, html, pageHeaders } from '../../formats/html.js';
import type { Reply } from '../../http/reply.js';
import type { HandledRequest } from '../../http/request.js';
import { hidden, layout, sourceOf } from './pages/page-frame.js';
import { PATHS } from './paths.js';

const FORM_TYPE = 'application/x-www-form-urlencoded';

/** The field by which a page of this service says that it has sent the form once more. */
const CONTINUED = 'continued';

/**
 * Receives a form by POST where GET has the parameters in the address (OpenID Connect Core section 3.1.2.1, RP-Initiated
 * Logout section 2). oidc-provider would need cookies with SameSite=None for this, which each request of another site
 * carries. The cookies of this service stay away from a form of another site, so that the response is a page which sends
 * the form once more, from this site. Nothing is stored before. Any other form becomes a request by GET, in
 * `request.req`, and the result is undefined. Rejects with 415.
 */
export async function receivePosted(
  provider: Provider,
  { req, body }: HandledRequest,
): Promise<Reply | undefined> {
  const form = new URLSearchParams(body.toString('utf8'));
  if (body.length > 0 && mediaTypeOf(req.headers) !== FORM_TYPE)
    throw unsupportedMediaType('Accept-Post', [FORM_TYPE]);
  const [path] = req.url!.split('?') as [string];
  if (isFromOtherSite(req.headers, new URL(provider.issuer).origin)) {
    const submitsItself = !form.has(CONTINUED);
    form.set(CONTINUED, 'yes');
    const redirectUris = path === PATHS.authorization ? await redirectUrisOf(provider, form) : [];
    return { status: 200, ...continuePage([...form], { submitsItself, redirectUris }) };
  }
  form.delete(CONTINUED);
  const { 'content-type': _type, 'content-length': _length, ...headers } = req.headers;
  Object.assign(req, { method: 'GET', url: `${path}?${form}`, headers });
  return undefined;
}

const mediaTypeOf = ({ 'content-type': field = '' }: IncomingHttpHeaders): string =>
  field.split(';')[0]!.trim().toLowerCase();

/**
 * Whether a browser withholds the cookies: those with SameSite=Lax come with a form of this site alone. Browsers name the
 * site over https and on localhost, and the origin of each form anywhere; other programs name neither.
 */
function isFromOtherSite(
  { 'sec-fetch-site': site, origin }: IncomingHttpHeaders,
  ownOrigin: string,
): boolean {
  return site === undefined ? origin !== undefined && origin !== ownOrigin : site === 'cross-site';
}

/** The addresses to which a request may lead: that of the form if it is registered, otherwise all that the client has. */
async function redirectUrisOf(provider: Provider, form: URLSearchParams): Promise<readonly string[]> {
  const client = await provider.Client.find(form.get('client_id') ?? '');
  if (!client) return [];
  const uri = form.get('redirect_uri') ?? '';
  return client.redirectUriAllowed(uri) ? [uri] : (client.redirectUris ?? []);
}

const SCRIPT = 'document.forms[0].submit()';
const SCRIPT_SOURCE = `'sha256-${createHash('sha256').update(SCRIPT).digest('base64')}'`;

/**
 * A page that submits fields to its own address, by itself or by its button. `redirectUris`: where the response may lead.
 * Returns its fields and its HTML.
 */
function continuePage(
  fields: readonly (readonly [string, string])[],
  { submitsItself, redirectUris }: { submitsItself: boolean; redirectUris: readonly string[] },
): { headers: readonly string[]; body: string } {
  const targets = [...new Set(redirectUris.map(sourceOf))].join(' ');
  return {
    headers: pageHeaders({
      formTarget: targets === '' ? undefined : targets,
      script: submitsItself ? SCRIPT_SOURCE : undefined,
    }),
    body: layout(
      'Continue',
      html`<p>An application has sent you here.</p>
<form method="post">
${fields.map(([name, value]) => hidden(name, value))}
<button class="main">Continue</button>
</form>
${submitsItself && html`<script>${new Html(SCRIPT)}</script>`}`,
    ),
  };
}
