import type { EventEmitter } from 'node:events';
import { isDeepStrictEqual } from 'node:util';
import type { Provider } from 'oidc-provider';
import type { Core } from '../../app/open-features.js';
import type { Config } from '../../config/config.js';
import { problemOf } from '../../db/database-errors.js';
import type { Db } from '../../db/db.js';
import { payloadTooLarge } from '../../errors/input-errors.js';
import type { Auth, Collection } from '../../feature.js';
import type { Reply } from '../../http/reply.js';
import type { HandledRequest } from '../../http/request.js';
import type { Log } from '../../telemetry/log.js';
import { singleFlight } from '../../work/shared-runs.js';
import { handleAccessJwts } from './access-jwts.js';
import { account } from './account.js';
import type { IssuerServices } from './endpoints.js';
import { type InteractionParts, interact } from './interactions.js';
import type { OwnTokens } from './own-tokens.js';
import { Passkeys } from './passkeys.js';
import { createProvider } from './provider.js';
import { type Guesses, guardResponses } from './provider-guards.js';
import { withSeenPasswords } from './seen-passwords.js';
import { ISSUER_SETTINGS } from './settings.js';
import { type IssuerKeys, openKeys, readKeys } from './signing-keys.js';
import { Strangers } from './strangers.js';

/** A notification of new keys can be lost, and a key begins to sign at its own time. */
const READ_KEYS_MS = 10_000;

/** Bytes of a body for oidc-provider, which stores some of them. */
const MAX_FORM_BYTES = 8192;

/** The authentication of a service that issues its own tokens. */
type IssuerAuth = Auth & { readonly own: OwnTokens };

/** The embedded authorization server. */
export class Issuer {
  #keys: IssuerKeys;
  #provider: Provider;
  #handle: ReturnType<Provider['callback']>;
  readonly #strangers: Strangers;
  readonly #guesses: Guesses = new WeakMap();
  readonly #timer: NodeJS.Timeout;
  readonly #reload = singleFlight(() => this.#readKeys());

  private constructor(
    readonly config: Config,
    readonly db: Db,
    readonly log: Log,
    readonly auth: IssuerAuth,
    keys: IssuerKeys,
    limitAddresses: Core['limitAddresses'],
  ) {
    this.#strangers = new Strangers(ISSUER_SETTINGS.of(config).signInsPerAddress, limitAddresses);
    this.#keys = keys;
    this.#provider = this.#createProvider();
    this.#handle = this.#provider.callback();
    this.#timer = setInterval(this.#reload, READ_KEYS_MS).unref();
    auth.own.onNewKeys = () => void this.#reload();
  }

  /** Opens the authorization server, and creates its keys on the first start. Throws ExitError for a wrong AUTH_SERVER_KEY. */
  static async open(
    config: Config,
    db: Db,
    log: Log,
    auth: IssuerAuth,
    limitAddresses: Core['limitAddresses'],
  ): Promise<Issuer> {
    const { authServerKey } = ISSUER_SETTINGS.of(config);
    return new Issuer(config, db, log, auth, await openKeys(db, authServerKey), limitAddresses);
  }

  /** The services of the endpoints. `scopes` are those of the API, `users` the collection of those that sign in. */
  services(scopes: readonly string[], users: Collection): IssuerServices {
    return {
      db: this.db,
      scopes,
      plain: (request) => withSeenPasswords(() => this.#respond(request)),
      limited: (request) => withSeenPasswords(() => this.#respondLimited(request)),
      interact: (request) => withSeenPasswords(() => this.#interact(request)),
      account: (request) =>
        withSeenPasswords(() => account(this.#provider, { ...this.#parts(), users }, request)),
    };
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** oidc-provider writes the response. Rejects with 413. */
  async #respond({ req, res, begin, body, address }: HandledRequest): Promise<undefined> {
    requireSmall(body);
    this.#strangers.arrived(req, address);
    begin();
    await this.#handle(req, res);
  }

  /**
   * Responds where secrets could be guessed: wrong secrets of clients and wrong codes of devices are limited by address.
   * Rejects with 413 and 429.
   */
  async #respondLimited(request: HandledRequest): Promise<undefined> {
    this.#guesses.set(request.req, this.auth.throttle.begin(request.address));
    await this.#respond(request);
  }

  #interact(request: HandledRequest): Promise<Reply> {
    return interact(this.#provider, this.#parts(), request);
  }

  #parts(): InteractionParts {
    const { config, db, auth } = this;
    const { signIn, throttle } = auth;
    const csrfSecret = this.#keys.pagesSecret;
    const passkeys = new Passkeys(db, new URL(config.issuer!), csrfSecret, auth.checkReplay);
    return { config, db, signIn, throttle, csrfSecret, passkeys };
  }

  #createProvider(): Provider {
    const { config, db, log, auth } = this;
    const keys = this.#keys;
    const parts = { config, db, checkReplay: auth.checkReplay, keys, strangers: this.#strangers };
    const provider = createProvider(parts);
    guardResponses(provider, this.#guesses);
    handleAccessJwts(provider, db, auth.own);
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
    return provider;
  }

  /** Requests in flight continue with the former keys, which stay published. */
  async #readKeys(): Promise<void> {
    try {
      const keys = await readKeys(this.db, ISSUER_SETTINGS.of(this.config).authServerKey);
      if (isDeepStrictEqual(keys, this.#keys)) return;
      this.#keys = keys;
      this.#provider = this.#createProvider();
      this.#handle = this.#provider.callback();
    } catch (err) {
      this.log.warn({ err }, 'the signing keys cannot be read; the present ones are used');
    }
  }
}

/** Throws 413. */
function requireSmall({ length }: Buffer): void {
  if (length > MAX_FORM_BYTES) throw payloadTooLarge(MAX_FORM_BYTES);
}
