import type { Client, Provider } from 'oidc-provider';
import { isEqual } from '../../auth/cookies.js';
import { scopesOf } from '../../auth/principal.js';
import type { Reply } from '../../http/reply.js';
import type { HandledRequest } from '../../http/request.js';
import { mayAllow } from './client-scopes.js';
import { addScopes } from './consents.js';
import { ISSUER_SQL } from './issuer-statements.js';
import { errors } from './oidc-provider.js';
import { pageReply, redirectReply } from './pages/page-frame.js';
import { errorPage, nameOf } from './pages/provider-pages.js';
import { consentPage } from './pages/sign-in-page.js';
import { INTERACTION } from './paths.js';
import { formToken } from './sealed-text.js';
import { type Entrance, secondStep, signIn } from './sign-in.js';
import { SECOND_STEP } from './sign-in-methods.js';
import type { SignInParts } from './sign-in-parts.js';
import { findUser, type User } from './user-claims.js';

type Interaction = InstanceType<Provider['Interaction']>;

const CANCELLED = { error: 'access_denied', error_description: 'the user cancelled the request' };

/**
 * Responds to a request for the page on which a user signs in or consents. The cookie of the interaction, which only the
 * browser that began it has, identifies it; a form has a token besides.
 */
export async function interact(parts: SignInParts, request: HandledRequest): Promise<Reply> {
  const { req, res, params, body } = request;
  const interaction = await parts.provider.interactionDetails(req, res).catch(ifEnded);
  if (!interaction || interaction.uid !== params.uid) return ended();
  const csrf = formToken(parts.csrfSecret, `csrf\n${interaction.uid}`);
  const form = req.method === 'POST' ? new URLSearchParams(body.toString('utf8')) : undefined;
  if (form && !isEqual(form.get('csrf') ?? '', csrf))
    return pageReply(
      403,
      errorPage('invalid_request', 'The form is not from this page. Go back and try again.'),
    );
  const client = await parts.provider.Client.find(String(interaction.params.client_id));
  const page = new InteractionPage(parts, request, interaction, client, csrf);
  return (await page.respond(form).catch(ifEnded)) ?? ended();
}

/** Undefined for the error of an interaction that is unknown, or that a reset of the password has ended meanwhile. */
function ifEnded(error: unknown): undefined {
  if (error instanceof errors.SessionNotFound || error instanceof errors.InvalidGrant) return;
  throw error;
}

const ended = () =>
  pageReply(
    400,
    errorPage('session_not_found', 'The request has expired. Start again from the application.'),
  );

/** One page of an interaction. */
class InteractionPage {
  readonly #clientName: string;

  constructor(
    readonly parts: SignInParts,
    readonly request: HandledRequest,
    readonly interaction: Interaction,
    readonly client: Client | undefined,
    readonly csrf: string,
  ) {
    this.#clientName = client ? nameOf(client) : '';
  }

  async respond(form: URLSearchParams | undefined): Promise<Reply> {
    const { prompt, session } = this.interaction;
    if (form?.get('action') === 'cancel') return this.#finish(CANCELLED);
    if (prompt.name === 'login') return signIn(this.parts, this.#entrance, form);
    const user = await findUser(this.parts.db, session!.accountId);
    if (!user) return ended();
    if (prompt.name === SECOND_STEP) return secondStep(this.parts, this.#entrance, user, session!.amr, form);
    const scopes = this.#allowedBy(user);
    if (form) return this.#consent(user.id, scopes);
    return this.#show(200, consentPage(this.#clientName, this.csrf, user.email, scopes));
  }

  get #entrance(): Entrance {
    const { request, csrf } = this;
    const { uid, params } = this.interaction;
    const isAnew = scopesOf(params.prompt).has('login');
    return {
      ...{ request, csrf, context: uid, client: this.#clientName },
      back: `${INTERACTION}/${uid}`,
      hint: String(params.login_hint ?? ''),
      scopes: scopesOf(params.scope),
      prompt: isAnew ? 'login' : undefined,
      show: (status, page) => this.#show(status, page),
      enter: (accountId, by, fields) => this.#finish({ login: { accountId, ...by } }, fields),
    };
  }

  #show(status: number, page: string): Reply {
    const { redirect_uri: redirectUri } = this.interaction.params;
    return pageReply(status, page, [], typeof redirectUri === 'string' ? redirectUri : undefined);
  }

  async #consent(accountId: string, scopes: readonly string[]): Promise<Reply> {
    const { config, db, provider } = this.parts;
    const { grantId, params } = this.interaction;
    const clientId = String(params.client_id);
    const stored = grantId === undefined ? undefined : await provider.Grant.find(grantId);
    const grant = stored ?? new provider.Grant({ accountId, clientId });
    addScopes(grant, config.audience!, scopes);
    const consent = { grantId: await grant.save() };
    await db.run(ISSUER_SQL.remember_consent, [accountId, clientId, scopes.join(' ')]);
    return this.#finish({ consent });
  }

  /** Returns to the authorization request with the result. */
  async #finish(result: object, fields: readonly string[] = []): Promise<Reply> {
    const { req, res } = this.request;
    const location = await this.parts.provider.interactionResult(req, res, result as never, {
      mergeWithLastSubmission: !('error' in result),
    });
    return redirectReply(location, fields);
  }

  /** The scopes of the request that the user may allow. */
  #allowedBy({ scopes }: User): string[] {
    const mayRefresh = this.client?.grantTypeAllowed('refresh_token') === true;
    return [...scopesOf(this.interaction.params.scope)].filter((scope) =>
      scope === 'offline_access' ? mayRefresh : mayAllow(scopes, scope),
    );
  }
}
