import type { EventEmitter } from 'node:events';
import { isDeepStrictEqual } from 'node:util';
import { decodeJwt } from 'jose';
import type { Core } from '../../app/open-features.js';
import { problemOf } from '../../db/database-errors.js';
import { payloadTooLarge, unsupportedMediaType } from '../../errors/input-errors.js';
import { badRequest } from '../../errors/request-errors.js';
import { type Auth, type Collection, withPackage } from '../../feature.js';
import type { Reply } from '../../http/reply.js';
import type { HandledRequest, Handler } from '../../http/request.js';
import { singleFlight } from '../../work/shared-runs.js';
import { hasUpstreams } from '../accounts/settings.js';
import { handleAccessJwts } from './access-jwts.js';
import { account } from './account.js';
import type { IssuerServices } from './endpoints.js';
import { interact } from './interactions.js';
import type { OwnTokens } from './own-tokens.js';
import { redirectReply } from './pages/page-frame.js';
import { Passkeys } from './passkeys.js';
import { PATHS } from './paths.js';
import { inRequest } from './present-request.js';
import { createProvider } from './provider.js';
import { guardResponses } from './provider-guards.js';
import { SecondFactors } from './second-factors.js';
import { ISSUER_SETTINGS } from './settings.js';
import { type IssuerKeys, openKeys, readKeys } from './signing-keys.js';
import { limitStrangers } from './strangers.js';
import type { UpstreamSignIn } from './upstream-sign-in.js';

/** A notification of new keys can be lost, and a key begins to sign at its own time. */
const READ_KEYS_MS = 10_000;

/** Bytes of a body for oidc-provider, which stores some of them. */
const MAX_FORM_BYTES = 8192;

/** The parts of the core that the authorization server uses. */
type IssuerCore = Pick<Core, 'config' | 'db' | 'log' | 'limitAddresses'> & { readonly auth: Auth };

/**
 * Opens the embedded authorization server, and creates its keys on the first start. `scopes` are those of the API, `users` the
 * collection of those that sign in. Throws ExitError for a wrong AUTH_SERVER_KEY.
 */
export async function openIssuer(
  core: IssuerCore,
  own: OwnTokens,
  scopes: readonly string[],
  users: Collection,
) {
  const { config, db, log, auth, limitAddresses } = core;
  const { authServerKey, signInsPerAddress } = ISSUER_SETTINGS.of(config);
  const admit = limitStrangers(signInsPerAddress, limitAddresses);
  const { UpstreamSignIn } = hasUpstreams(config)
    ? await withPackage(import('./upstream-sign-in.js'), 'UPSTREAM_<NAME>_ISSUER', 'openid-client')
    : {};
  const keys = await openKeys(db, authServerKey);
  const upstreams = UpstreamSignIn && new UpstreamSignIn(core, keys.pagesSecret, users);
  const open = (keys: IssuerKeys) => openProvider(core, own, keys, admit, upstreams, users);
  let current = open(keys);

  /** Requests in flight continue with the former keys, which stay published. */
  const reload = singleFlight(async () => {
    try {
      const keys = await readKeys(db, authServerKey);
      if (!isDeepStrictEqual(keys, current.keys)) current = open(keys);
    } catch (err) {
      log.warn({ err }, 'the signing keys cannot be read; the present ones are used');
    }
  });
  own.onNewKeys = () => void reload();
  const timer = setInterval(reload, READ_KEYS_MS).unref();

  /** oidc-provider writes the response. Rejects with 413. */
  async function respond(request: HandledRequest): Promise<undefined> {
    requireSmall(request);
    const { req, res, begin } = request;
    begin();
    await current.handle(req, res);
  }
  const handling =
    (handle: Handler): Handler =>
    (request) =>
      inRequest(async () => handle(request), request.address);
  const services: IssuerServices = {
    db,
    scopes,
    accounts: auth.accounts,
    parts: () => current.parts,
    plain: handling(respond),
    limited: (request) =>
      inRequest(() => respond(request), request.address, auth.throttle.begin(request.address)),
    inAddressOrForm: handling(async (request) => {
      if (request.req.method !== 'POST') return respond(request);
      requireSmall(request);
      return repeatedByGet(request);
    }),
    interact: handling((request) => interact(current.parts, request)),
    account: handling((request) => account(current.parts, request)),
    returned: async (request) => upstreams!.returned(request),
  };
  return { services, metrics: { ...upstreams?.metrics }, close: () => clearInterval(timer) };
}

const FORM_TYPE = 'application/x-www-form-urlencoded';

/**
 * Has the browser send a form again by GET (OpenID Connect Core section 3.1.2.1, RP-Initiated Logout section 2). A form of another
 * site comes without the cookies of this service; the second request has them. An ID token never becomes a part of an address: of a sign-out
 * the client in it remains, and other requests with one are refused. Throws 400 and 415.
 */
function repeatedByGet({ req, body }: HandledRequest): Reply {
  const [type = ''] = (req.headers['content-type'] ?? '').split(';');
  if (body.length > 0 && type.trim().toLowerCase() !== FORM_TYPE)
    throw unsupportedMediaType('Accept-Post', [FORM_TYPE]);
  const path = req.url!.split('?')[0]!;
  const params = new URLSearchParams(body.toString('utf8'));
  const hint = params.get('id_token_hint');
  if (hint !== null) {
    const client = path === PATHS.end_session ? clientIn(hint) : undefined;
    if (client === undefined) throw badRequest('A form with this id_token_hint is not accepted: use GET.');
    params.delete('id_token_hint');
    if (!params.has('client_id')) params.set('client_id', client);
  }
  return redirectReply(`${path}?${params}`);
}

/** The client for which an ID token was issued, whatever its signature; undefined: the text is none. */
function clientIn(token: string): string | undefined {
  try {
    const { aud } = decodeJwt(token);
    return typeof aud === 'string' ? aud : undefined;
  } catch {
    return undefined;
  }
}

function requireSmall({ body }: HandledRequest): void {
  if (body.length > MAX_FORM_BYTES) throw payloadTooLarge(MAX_FORM_BYTES);
}

/** A provider with these keys, and the parts of the sign-in to it. */
function openProvider(
  { config, db, log, auth }: IssuerCore,
  tokens: OwnTokens,
  keys: IssuerKeys,
  admit: () => Promise<void>,
  upstreams: UpstreamSignIn | undefined,
  users: Collection,
) {
  const { signIn, throttle, checkReplay } = auth;
  const provider = createProvider({ config, db, checkReplay, keys, admit });
  guardResponses(provider);
  handleAccessJwts(provider, db, tokens);
  provider.on('server_error', (ctx, error) => {
    const requestId = ctx.response.get('X-Request-Id');
    const problem = problemOf(error);
    if (problem) {
      log.warn({ err: error, requestId }, problem.message);
      ctx.status = problem.status;
      ctx.set('Retry-After', '1');
    } else log.error({ err: error, requestId }, 'request failed');
  });
  (provider as EventEmitter).on('error', (error: unknown) =>
    log.error({ err: error }, 'the authorization server failed'),
  );
  const { pagesSecret: csrfSecret } = keys;
  const site = new URL(config.issuer!);
  const passkeys = new Passkeys(db, site, csrfSecret, checkReplay);
  const secondFactors = new SecondFactors(db, site.hostname, csrfSecret);
  const own = { provider, config, db, signIn, throttle, csrfSecret, users };
  return { keys, handle: provider.callback(), parts: { ...own, passkeys, secondFactors, upstreams } };
}
