import type { Provider } from 'oidc-provider';
import { isEqual } from '../../auth/cookies.js';
import { scopesOf } from '../../auth/principal.js';
import type { Auth } from '../../feature.js';
import type { Reply } from '../../http/reply.js';
import type { HandledRequest } from '../../http/request.js';
import { accountLinks } from '../accounts/settings.js';
import { mayAllow } from './client-scopes.js';
import { addScopes, rememberConsent } from './consents.js';
import { errors } from './oidc-provider.js';
import { pageReply, redirectReply } from './pages/page-frame.js';
import { errorPage, nameOf } from './pages/provider-pages.js';
import { consentPage, signInPage } from './pages/sign-in-page.js';
import { formToken } from './passkeys.js';
import { INTERACTION } from './paths.js';
import { confirmPassword } from './present-request.js';
import { secondStep } from './second-step.js';
import { SECOND_STEP, type SignInMethods, signedInBy } from './sign-in-methods.js';
import type { InteractionParts } from './sign-in-parts.js';
import { findUser } from './user-claims.js';

type Interaction = InstanceType<Provider['Interaction']>;

/** The user with an email and a password that a form has; undefined: they are wrong. Throws 429 and 503. */
export async function checkedPassword(
  { signIn, throttle }: InteractionParts,
  { address }: HandledRequest,
  email: string,
  password: string | null,
): Promise<SignedIn | undefined> {
  const attempt = throttle.begin(address);
  const user = await signIn(email, password ?? '', attempt);
  if (user.userId === undefined) {
    await attempt.fail(user.account);
    return undefined;
  }
  attempt.pass();
  confirmPassword(user.userId, user.passwordVersion);
  return user;
}

type SignedIn = Extract<Awaited<ReturnType<Auth['signIn']>>, { readonly userId: string }>;

const CANCELLED = { error: 'access_denied', error_description: 'the user cancelled the request' };

/**
 * Responds to a request for the page on which a user signs in or consents. The cookie of the interaction, which only the
 * browser that began it has, identifies it; a form has a token besides.
 */
export async function interact(
  provider: Provider,
  parts: InteractionParts,
  request: HandledRequest,
): Promise<Reply> {
  const { req, res, params } = request;
  const interaction = await provider.interactionDetails(req, res).catch(ifEnded);
  if (!interaction || interaction.uid !== params.uid) return ended();
  const csrf = formToken(parts.csrfSecret, `csrf\n${interaction.uid}`);
  const step = new InteractionPage(provider, parts, request, interaction, csrf);
  if (req.method !== 'POST') return (await step.arrive().catch(ifEnded)) ?? ended();
  const form = new URLSearchParams(request.body.toString('utf8'));
  if (!isEqual(form.get('csrf') ?? '', csrf))
    return pageReply(
      403,
      errorPage('invalid_request', 'The form is not from this page. Go back and try again.'),
    );
  return (await submit(step, form).catch(ifEnded)) ?? ended();
}

function submit(step: InteractionPage, form: URLSearchParams): Promise<Reply> {
  if (form.get('action') === 'cancel') return step.finish(CANCELLED);
  if (step.interaction.prompt.name === SECOND_STEP) return step.secondStep(form);
  if (step.interaction.prompt.name !== 'login') return step.consent();
  return form.get('action') === 'passkey' ? step.signInByPasskey(form) : step.signIn(form);
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
  constructor(
    readonly provider: Provider,
    readonly parts: InteractionParts,
    readonly request: HandledRequest,
    readonly interaction: Interaction,
    readonly csrf: string,
  ) {}

  /** The page, or a step of a sign-in at another issuer. */
  async arrive(): Promise<Reply> {
    const { interaction, parts, request } = this;
    const { upstreams } = parts;
    if (!upstreams || interaction.prompt.name !== 'login') return this.show();
    const isAnew = String(interaction.params.prompt ?? '')
      .split(' ')
      .includes('login');
    const step = await upstreams.step(request, this.#back, isAnew ? 'login' : undefined);
    if (step?.userId !== undefined)
      return this.finish({ login: { accountId: step.userId, ...signedInBy('fed') } });
    return step?.reply ?? this.show(step?.status, undefined, step?.error);
  }

  get #back(): string {
    return `${INTERACTION}/${this.interaction.uid}`;
  }

  async show(status = 200, email?: string, error?: string): Promise<Reply> {
    const { interaction, csrf } = this;
    if (interaction.prompt.name === SECOND_STEP) return this.secondStep();
    const client = await this.#clientName();
    const { login_hint: hint } = interaction.params;
    const html =
      interaction.prompt.name === 'login'
        ? signInPage({
            client,
            csrf,
            email: email ?? String(hint ?? ''),
            links: accountLinks(this.parts.config, this.#back),
            error,
            passkey: await this.#passkeyForm(),
            upstream: this.parts.upstreams?.linksOf(this.#back, this.request),
          })
        : consentPage({ client, csrf, ...(await this.#requested()) });
    return this.#reply(status, html);
  }

  #reply(status: number, html: string): Reply {
    const { redirect_uri: redirectUri } = this.interaction.params;
    return pageReply(status, html, [], typeof redirectUri === 'string' ? redirectUri : undefined);
  }

  /** The page on which the user proves the second factor; with a `form` that does, the next step. */
  async secondStep(form?: URLSearchParams): Promise<Reply> {
    const { csrf, interaction } = this;
    const { accountId, amr } = interaction.session!;
    const user = await findUser(this.parts.db, accountId);
    if (!user) return ended();
    const first = { user, context: interaction.uid, amr, csrf, client: await this.#clientName() };
    const step = await secondStep(this.parts, this.request, first, form);
    if (typeof step === 'string') return this.#reply(form ? 422 : 200, step);
    return this.#finishLinked(accountId, step);
  }

  async signIn(form: URLSearchParams): Promise<Reply> {
    const email = form.get('email') ?? '';
    const user = await checkedPassword(this.parts, this.request, email, form.get('password'));
    if (!user) return this.show(422, email.slice(0, 254), 'The email or the password is wrong.');
    return this.#finishLinked(user.userId, signedInBy('pwd'));
  }

  async #finishLinked(accountId: string, by: SignInMethods): Promise<Reply> {
    const scopes = scopesOf(this.interaction.params.scope);
    const fields = (await this.parts.upstreams?.link(this.request, accountId, by.amr, scopes)) ?? [];
    return this.finish({ login: { accountId, ...by } }, fields);
  }

  async signInByPasskey(form: URLSearchParams): Promise<Reply> {
    const { throttle, passkeys } = this.parts;
    const attempt = throttle.begin(this.request.address);
    const used = await passkeys.signIn(this.interaction.uid, form);
    if (!used) {
      await attempt.fail(undefined);
      return this.show(422, undefined, 'The passkey is not valid here.');
    }
    attempt.pass();
    return this.finish({ login: { accountId: used.userId, ...signedInBy(...used.amr) } });
  }

  async consent(): Promise<Reply> {
    const { interaction, parts, provider } = this;
    const { scopes } = await this.#requested();
    const accountId = interaction.session!.accountId;
    const clientId = String(interaction.params.client_id);
    const { audience } = parts.config;
    const stored =
      interaction.grantId === undefined ? undefined : await provider.Grant.find(interaction.grantId);
    const grant = stored ?? new provider.Grant({ accountId, clientId });
    addScopes(grant, audience!, scopes);
    const grantId = await grant.save();
    await rememberConsent(parts.db, accountId, clientId, scopes);
    return this.finish({ consent: { grantId } });
  }

  /** Returns to the authorization request with the result. */
  async finish(result: object, fields: readonly string[] = []): Promise<Reply> {
    const { req, res } = this.request;
    const location = await this.provider.interactionResult(req, res, result as never, {
      mergeWithLastSubmission: !('error' in result),
    });
    return redirectReply(location, fields);
  }

  async #passkeyForm() {
    const { passkeys } = this.parts;
    return passkeys.isAvailable ? passkeys.requestForm(this.interaction.uid) : undefined;
  }

  async #clientName(): Promise<string> {
    const client = await this.provider.Client.find(String(this.interaction.params.client_id));
    return client ? nameOf(client) : '';
  }

  /** The scopes of the request that the user may allow. */
  async #requested(): Promise<{ account: string; scopes: string[] }> {
    const { session, params } = this.interaction;
    const user = await findUser(this.parts.db, session?.accountId ?? '');
    const client = await this.provider.Client.find(String(params.client_id));
    const mayRefresh = client?.grantTypeAllowed('refresh_token') === true;
    const allowed = [...scopesOf(params.scope)].filter((scope) =>
      scope === 'offline_access' ? mayRefresh : user !== undefined && mayAllow(user.scopes, scope),
    );
    return { account: String(user?.record.email ?? ''), scopes: allowed };
  }
}
