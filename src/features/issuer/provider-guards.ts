import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { KoaContextWithOIDC, Client as OAuthClient, Provider as OAuthProvider } from 'oidc-provider';
import { Problem } from '../../errors/problem.js';
import type { Auth } from '../../feature.js';
import { pageHeaders } from '../../formats/html.js';
import { errors, Provider } from './oidc-provider.js';
import { sourceOf } from './pages/page-frame.js';
import { showError } from './pages/provider-pages.js';

/** The attempts of requests that may be guesses of a secret or a code. */
export class Guesses {
  readonly #attempts = new WeakMap<IncomingMessage, ReturnType<Auth['throttle']['begin']>>();
  readonly #refusals = new WeakMap<IncomingMessage, Problem>();

  begin(req: IncomingMessage, attempt: ReturnType<Auth['throttle']['begin']>): void {
    this.#attempts.set(req, attempt);
  }

  /**
   * Whether a right secret is accepted: other requests may have reached the limit while it was compared. The check comes
   * before the request has an effect, since its response is then 429.
   */
  accepts(req: IncomingMessage): boolean {
    try {
      this.#attempts.get(req)?.pass();
      return true;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      this.#refusals.set(req, error);
      return false;
    }
  }

  /** Counts a wrong secret or code. Returns the reason for which the response is 429 instead. */
  async settle({ req, status, oidc }: KoaContextWithOIDC): Promise<Problem | undefined> {
    if (this.#refusals.has(req)) return this.#refusals.get(req);
    try {
      if (WRONG.has(status)) await this.#attempts.get(req)?.fail(undefined);
      // A right code of a device has no effect until the user confirms it.
      else if (oidc?.route === 'code_verification') this.#attempts.get(req)?.pass();
    } catch (error) {
      if (error instanceof Problem) return error;
      throw error;
    }
    return undefined;
  }
}

/** Statuses of wrong secrets of clients, and of wrong codes of devices. */
const WRONG: ReadonlySet<number> = new Set([401, 422]);

/** Lets the right secret of a client count only while its address is below the limit of failures. */
export function limitGuesses({ Client }: OAuthProvider, guesses: Guesses): void {
  const compare = Client.prototype.compareClientSecret;
  Client.prototype.compareClientSecret = async function accepted(this: OAuthClient, secret: string) {
    return (await compare.call(this, secret)) && guesses.accepts(Provider.ctx!.req);
  };
}

/**
 * Adds to the responses of a provider, before they are sent: a policy for its own pages, and 429 when others reached the
 * limit of failures while this attempt was checked.
 */
export function guardResponses(provider: OAuthProvider, guesses: Guesses): void {
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
    nameUnauthorized(ctx);
    addPolicy(ctx);
    const refusal = await guesses.settle(ctx);
    if (refusal) refuse(ctx, refusal);
  });
}

/** The end of what oidc-provider says about a grant or response type that a client may not use. */
const NOT_ALLOWED = 'is not allowed for this client';

/**
 * Gives the refusal of a grant or response type that the client may not use its code (RFC 6749 section 5.2), for which
 * oidc-provider responds with invalid_request.
 */
function nameUnauthorized({ status, body }: KoaContextWithOIDC): void {
  if (status !== 400 || typeof body !== 'object' || body === null) return;
  const refusal = body as { error?: string; error_description?: string };
  if (refusal.error === 'invalid_request' && refusal.error_description?.endsWith(NOT_ALLOWED))
    refusal.error = 'unauthorized_client';
}

/** Gives a page of oidc-provider, which submits itself by a script, the policy of all pages. */
function addPolicy(ctx: KoaContextWithOIDC): void {
  if (ctx.type !== 'text/html' || ctx.response.get('Content-Security-Policy')) return;
  const [, script] = /<script>([^<]*)<\/script>/.exec(String(ctx.body)) ?? [];
  const params = ctx.oidc?.params;
  const redirectUri = params?.redirect_uri ?? params?.post_logout_redirect_uri;
  const fields = pageHeaders({
    formTarget: typeof redirectUri === 'string' ? sourceOf(redirectUri) : undefined,
    script:
      script === undefined ? undefined : `'sha256-${createHash('sha256').update(script).digest('base64')}'`,
  });
  for (let at = 0; at < fields.length; at += 2) ctx.set(fields[at]!, fields[at + 1]!);
}

function refuse(ctx: KoaContextWithOIDC, { status, code, message, more: { headers = [] } }: Problem): void {
  for (const name of ['Set-Cookie', 'Location', 'WWW-Authenticate']) ctx.remove(name);
  for (let at = 0; at < headers.length; at += 2) ctx.set(headers[at]!, headers[at + 1]!);
  ctx.status = status;
  ctx.body = { error: { code, message } };
}
