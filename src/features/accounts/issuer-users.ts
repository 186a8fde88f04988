import { hash } from 'node:crypto';
import { type Claims, claimAt, ended, refusal, type Token } from '../../auth/tokens/access-token.js';
import { setUserFields } from '../../collection/password-writes.js';
import type { Db, Run } from '../../db/db.js';
import { Problem } from '../../errors/problem.js';
import type { Collection } from '../../feature.js';
import type { JsonObject } from '../../json.js';
import type { Log } from '../../telemetry/log.js';
import { ACCOUNTS_SQL } from './accounts-statements.js';
import { accountExists, accountIncomplete, accountUnknown } from './errors.js';
import type { AccountsConfig } from './settings.js';
import { userInfo } from './user-info.js';

/** How long a user is cached with its token: after this time, the token of a deleted or disabled user is examined again. */
export const USER_AGE_MS = 1000;
const MAX_SUBJECT = 1000;

/** The user that a subject means, and the SHA-256 of the values that the last token gave the user. */
interface Link {
  readonly userId: string;
  readonly hash: string;
  readonly isDisabled?: boolean;
}

/** The values that claims give to the fields of a user. */
interface Values {
  readonly fields: JsonObject;
  readonly hash: string;
  /** The address in the form of the collection of users; undefined: the issuer has not verified one. */
  readonly verifiedEmail: string | undefined;
}

type Subject = Readonly<Record<'issuer' | 'subject', string>>;

/** A subject of which the user is to be found. */
interface Arrival extends Subject {
  readonly claims: Claims;
  /** Requests the claims that the token does not have. */
  readonly more: () => Promise<Claims>;
}

/**
 * The users of subjects of other issuers. A subject means the user to which a link leads. Without a link, the token makes a user, or is
 * linked to one with the same address, which the issuer has verified, and that nothing else can enter.
 */
export class IssuerUsers {
  constructor(
    readonly db: Db,
    readonly log: Log,
    readonly settings: AccountsConfig,
    readonly users: () => Collection,
  ) {}

  /** The token with its user as the subject. A client has no user. Rejects with CredentialRejected, and 403. */
  async identify(issuer: string, token: Token, claims: Claims, text: string): Promise<Token> {
    const { subject } = token.principal;
    const more = () => userInfo(issuer, subject, text, this.log);
    if (subject !== claims.sub) return token;
    const userId = await this.userOf({ issuer, subject, claims, more });
    if (userId === undefined) throw ended('The user of the access token is disabled.');
    const cachedUntil = Math.min(token.cachedUntil, Date.now() + USER_AGE_MS);
    return { ...token, cachedUntil, principal: { ...token.principal, subject: userId } };
  }

  /** The user that a subject means; undefined: it is disabled. Rejects with CredentialRejected, and 403. */
  async userOf(arrival: Arrival): Promise<string | undefined> {
    const { subject, claims } = arrival;
    if (subject === '' || subject.length > MAX_SUBJECT || subject.includes('\0'))
      throw refusal('The access token has an unusable subject.');
    const values = this.valuesOf(claims);
    const link = await this.#linkOf(arrival, values);
    if (link.isDisabled) return undefined;
    if (link.hash !== values.hash) await this.#update(arrival, values, link.userId);
    return link.userId;
  }

  async #linkOf(arrival: Arrival, values: Values): Promise<Link> {
    const found = await this.#find(arrival);
    if (found) return found;
    const known = values.fields.email !== undefined ? values : await this.#valuesWithMore(arrival);
    try {
      return await this.db.transaction((run) => this.#link(run, arrival, known, values.hash));
    } catch (error) {
      // Another request with the subject may have linked it, or made its user, meanwhile.
      const made = await this.#find(arrival);
      if (made) return made;
      throw error;
    }
  }

  /** An address and whether it is verified come from one source. */
  async #valuesWithMore({ claims, more }: Arrival): Promise<Values> {
    const found = await more();
    const { email, email_verified } = found.email === undefined ? claims : found;
    const isUnsaid = email_verified === undefined && claims.email_verified !== undefined;
    return this.valuesOf({ ...claims, ...found, email, email_verified: isUnsaid ? false : email_verified });
  }

  async #link(run: Run, { issuer, subject }: Subject, known: Values, hash: string): Promise<Link> {
    const [user] =
      known.verifiedEmail === undefined ? [] : await run(ACCOUNTS_SQL.user_with_email, [known.verifiedEmail]);
    if (user?.is_enterable === true) throw accountExists();
    const userId = user ? String(user.id) : await this.#create(run, known);
    const made = await run(ACCOUNTS_SQL.link_user, [issuer, subject, userId, hash]);
    if (made.length === 0) throw accountExists();
    return { userId, hash };
  }

  async #create(run: Run, { fields }: Values): Promise<string> {
    if (this.settings.usersFromIssuer === 'known') throw accountUnknown();
    const users = this.users();
    const login = typeof fields.email === 'string' ? { name: fields.email.split('@')[0]! } : {};
    try {
      return (await users.create(users.check({ ...login, ...fields }), run)).id;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const { status, more } = error;
      throw status === 409 ? accountExists() : status < 500 ? accountIncomplete(more.details) : error;
    }
  }

  /** Follows claims that have changed. A user that the values do not fit stays as it is. */
  async #update({ issuer, subject }: Subject, { fields, hash }: Values, id: string): Promise<void> {
    try {
      await setUserFields(this.users(), id, fields);
    } catch (err) {
      if (!(err instanceof Problem) || err.status >= 500) throw err;
      this.log.warn({ err, user: id }, 'the claims of a token do not fit its user, who stays as before');
    }
    await this.db.run(ACCOUNTS_SQL.link_values, [issuer, subject, hash]);
  }

  /**
   * Email and name by the claims of OpenID Connect, and the fields of USER_CLAIMS. An address that is not verified could belong to another
   * person, and is no value; some issuers send the text `true` for the boolean, Amazon Cognito for one. An operator who names the claim of
   * addresses vouches for an issuer without `email_verified`.
   */
  valuesOf(claims: Claims): Values {
    const { email_verified: verified, name, preferred_username: login } = claims;
    const { userClaims = new Map<string, string>() } = this.settings;
    const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
    const email = claimAt(claims, userClaims.get('email') ?? 'email');
    const isVerified =
      verified === true || verified === 'true' || (verified === undefined && userClaims.has('email'));
    // Some other letters have ASCII letters as their lower case, and would mean the address of someone else.
    const address = isVerified && isText(email) && !/[^\x20-\x7e]/.test(email) ? email : undefined;
    const given = [
      ['email', address],
      ['name', [name, login].find(isText)],
      ...[...userClaims]
        .filter(([field]) => field !== 'email')
        .map(([field, at]) => [field, claimAt(claims, at)]),
    ];
    const { properties } = this.users().resource.schema;
    const declared = Object.fromEntries(
      given.filter(([field, value]) => value !== undefined && Object.hasOwn(properties, String(field))),
    );
    const fields = JSON.parse(JSON.stringify(declared, storable)) as JsonObject;
    const verifiedEmail = address?.trim().toLowerCase();
    return { fields, hash: hash('sha256', JSON.stringify(fields), 'base64'), verifiedEmail };
  }

  async #find({ issuer, subject }: Subject): Promise<Link | undefined> {
    const [row] = await this.db.run(ACCOUNTS_SQL.linked_user, [issuer, subject]);
    return (
      row && { userId: String(row.owner), hash: String(row.claims), isDisabled: row.is_disabled === true }
    );
  }
}

/** A text without the characters that PostgreSQL does not store: U+0000 and lone surrogates. */
const storable = (_name: string, value: unknown): unknown =>
  typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '\u{fffd}') : value;
