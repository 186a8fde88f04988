import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import { Problem } from '../../errors/problem.js';
import { pageHeaders } from '../../formats/html.js';
import { errors } from './oidc-provider.js';
import { sourceOf } from './pages/page-frame.js';
import { setFields, showError } from './pages/provider-pages.js';
import { presentRequest } from './present-request.js';

/**
 * Counts a wrong secret or code. Throws 429 if others reached the limit meanwhile. The right secret of a client, which has 256
 * random bits, counts always, and the right code of a device has no effect until the user confirms it.
 */
async function settle({ status, oidc }: KoaContextWithOIDC): Promise<void> {
  const attempt = presentRequest()?.attempt;
  if (WRONG.has(status)) await attempt?.fail(undefined);
  else if (oidc?.route === 'code_verification') attempt?.pass();
}

/** Statuses of wrong secrets of clients, and of wrong codes of devices. */
const WRONG: ReadonlySet<number> = new Set([401, 422]);

/**
 * Adds to the responses of a provider, before they are sent: a policy for its own pages, and 429 when others reached the
 * limit of failures while this attempt was checked.
 */
export function guardResponses(provider: Provider): void {
  provider.use(async (context, next) => {
    const ctx = context as KoaContextWithOIDC;
    try {
      await next();
    } catch (error) {
      // oidc-provider stores a session when its own pages for errors are done.
      if (!(error instanceof errors.OIDCProviderError)) throw error;
      ctx.status = error.statusCode;
      await showError(ctx, { error: error.error, error_description: error.error_description });
    }
    addPolicy(ctx);
    await settle(ctx).catch((error: unknown) => {
      if (!(error instanceof Problem)) throw error;
      refuse(ctx, error);
    });
  });
}

/** Gives a page of oidc-provider, which submits itself by a script, the policy of all pages. */
function addPolicy(ctx: KoaContextWithOIDC): void {
  if (ctx.type !== 'text/html' || ctx.response.get('Content-Security-Policy')) return;
  const [, script] = /<script>([^<]*)<\/script>/.exec(String(ctx.body)) ?? [];
  const params = ctx.oidc?.params;
  const redirectUri = params?.redirect_uri ?? params?.post_logout_redirect_uri;
  const fields = pageHeaders({
    formTarget: typeof redirectUri === 'string' ? sourceOf(redirectUri) : undefined,
    script,
  });
  setFields(ctx, fields);
}

function refuse(ctx: KoaContextWithOIDC, { status, code, message, more: { headers = [] } }: Problem): void {
  for (const name of ['Set-Cookie', 'Location', 'WWW-Authenticate']) ctx.remove(name);
  setFields(ctx, headers);
  ctx.status = status;
  ctx.body = { error: { code, message } };
}
