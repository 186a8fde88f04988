import { hash } from 'node:crypto';
import { forbidden, secondFactorRequired } from '../errors/caller-errors.js';
import type { JsonObject } from '../json.js';

/** The credentials that AUTH can name. */
export const SCHEMES = ['bearer', 'basic', 'api-key', 'signature', 'mtls'] as const;
export type SchemeName = (typeof SCHEMES)[number];

/** The caller, with any kind of credential. */
export interface Principal {
  readonly subject: string;
  readonly scopes: ReadonlySet<string>;
  /** Scopes that a second factor would add. */
  readonly withheld?: readonly string[];
  /** The kind of credential; `session` of the authorization server in a browser; `none` without one. */
  readonly scheme: SchemeName | 'session' | 'none';
  /** The claims of a token, which access rules can name; absent for other credentials. */
  readonly claims?: JsonObject | undefined;
  /** Seconds since 1970; undefined: the credential does not expire. */
  readonly expiresAt: number | undefined;
  /**
   * The key of the credential in the database, a SHA-256 in base64: of an API key or a certificate, or of a user's email and
   * password hash. Undefined for schemes whose credentials the database does not know.
   */
  readonly credential?: string;
  /** When the session of a browser began, in seconds since 1970. */
  readonly signedInAt?: number | undefined;
  /** The version of the password of the user who signed in; undefined for credentials that no user's sign-in has made. */
  readonly passwordVersion?: number | undefined;
}

/**
 * The requirement of an action for its caller: nothing, any credential, or scopes. `optional`: a request without a
 * credential is that of a stranger, who has no scopes.
 */
export type Requirement = 'nothing' | 'optional' | 'credential' | ScopeRequirement;

export interface ScopeRequirement {
  /** The scopes, all of which are required. */
  readonly scopes: readonly string[];
  /** Scopes that suffice in place of those at the same positions of `scopes`. */
  readonly sufficient?: readonly (string | undefined)[] | undefined;
  /**
   * The ownership that is sufficient with the scope `self`: a path whose `:id` is the caller's own, or with `rules` each record that
   * grants permit; with `path and rules` those below the caller's own path.
   */
  readonly ownership?: 'path' | 'rules' | 'path and rules' | undefined;
  /** The action deletes the caller's own account, which `self` permits to the user in person alone. */
  readonly deletesAccount?: boolean | undefined;
}

/** The scopes of a collection. */
export interface CollectionScopes {
  readonly read: string;
  readonly write: string;
}

/** The requirement of reading all records of collections. The scope that permits writing one permits reading it. */
export const readingOf = (
  collections: readonly CollectionScopes[],
  ownership?: ScopeRequirement['ownership'],
): Requirement =>
  collections.length === 0
    ? 'nothing'
    : {
        scopes: collections.map(({ read }) => read),
        sufficient: collections.map(({ write }) => write),
        ownership,
      };

/** The scope with which an application may delete the account of its user. */
export const ACCOUNT_DELETION = 'self:delete';

/** Every caller with AUTH=none. */
export const NOBODY: Principal = {
  subject: 'anonymous',
  scopes: new Set(['admin']),
  scheme: 'none',
  expiresAt: undefined,
};

/** A caller without a credential, where one is optional. */
export const STRANGER: Principal = { ...NOBODY, scopes: new Set() };

/** The name of a caller in records and events; undefined: the service does not know who it is. */
export const callerOf = ({ scheme, subject }: Principal): string | undefined =>
  scheme === 'none' ? undefined : subject;

/** Whether the scopes of a caller permit an action with all records, with the own one in the path, or with those that grants permit. */
export type Permission = 'all' | 'own' | 'rules';

/**
 * Decides without reading a record, so that a 403 does not reveal what exists. `admin` includes every scope, and the
 * permission to write includes the one to read, since the response to a write contains the record. Throws 403.
 */
export function permit(principal: Principal, need: Requirement, params: Params): Permission {
  const permission = permissionOf(principal, need, params);
  if (permission !== undefined) return permission;
  const { scopes, withheld = [] } = principal;
  const missing = missingScopes(principal, need as ScopeRequirement, params);
  const isWithheld =
    permissionOf({ ...principal, scopes: new Set([...scopes, ...withheld]) }, need, params) !== undefined;
  throw isWithheld ? secondFactorRequired(missing) : forbidden(missing);
}

type Params = Readonly<Record<string, string | undefined>>;

/** The permission of a caller; undefined: it has none. */
export function permissionOf(
  principal: Principal,
  need: Requirement,
  params: Params,
): Permission | undefined {
  const { scopes } = principal;
  if (typeof need === 'string' || scopes.has('admin')) return 'all';
  const isHeld = (scope: string, at: number) =>
    includes(scopes, scope) || scopes.has(need.sufficient?.[at] ?? scope);
  if (need.scopes.every(isHeld)) return 'all';
  const isPermitted = need.deletesAccount ? mayDeleteAccount(principal) : scopes.has('self');
  if (isPermitted && need.ownership === 'rules') return 'rules';
  if (!isPermitted || !isOwn(principal, need, params)) return undefined;
  return need.ownership === 'path and rules' ? 'rules' : 'own';
}

function isOwn({ subject }: Principal, { ownership }: ScopeRequirement, { id }: Params): boolean {
  const isOfPath = ownership === 'path' || ownership === 'path and rules';
  return isOfPath && id?.toLowerCase() === subject.toLowerCase();
}

/** Basic and the session of a browser are the user in person; all other credentials are held by applications. */
export function mayDeleteAccount({ scheme, scopes }: Principal): boolean {
  const isInPerson = scheme === 'basic' || scheme === 'session';
  return scopes.has(ACCOUNT_DELETION) || (isInPerson && scopes.has('self'));
}

/** The least that would permit an action. */
function missingScopes(principal: Principal, need: ScopeRequirement, params: Params): readonly string[] {
  const isOwnAccount = need.deletesAccount && principal.scopes.has('self') && isOwn(principal, need, params);
  return isOwnAccount ? [ACCOUNT_DELETION] : need.scopes;
}

/** Whether `scopes` contain this one, or one that includes it. */
export function includes(scopes: ReadonlySet<string>, scope: string): boolean {
  return scopes.has(scope) || (scope.endsWith(':read') && scopes.has(`${scope.slice(0, -5)}:write`));
}

/** Scopes from a space-separated list (RFC 6749 section 3.3) or an array. */
export function scopesOf(value: unknown): ReadonlySet<string> {
  const names = typeof value === 'string' ? value.split(' ') : Array.isArray(value) ? value : [];
  return new Set(names.filter((name): name is string => typeof name === 'string' && name !== ''));
}

/** `signedInAt`: seconds since 1970. A sign-in in the future is not young: the clock went forward and back since then. */
export function isYoungerThan(seconds: number, signedInAt = 0): boolean {
  const age = Date.now() / 1000 - signedInAt;
  return age > -CLOCK_TOLERANCE_S && age < seconds;
}

/** How far the clock of another process may be ahead. */
const CLOCK_TOLERANCE_S = 30;

/** An invalid credential, which becomes a 401. The description must not contain any part of the credential. */
export class CredentialRejected {
  constructor(
    readonly scheme: SchemeName,
    readonly description: string,
    /** The account that the credential claims, for the limit of failed logins. */
    readonly account?: string,
    /** Whether the credential may be a guess. One that its issuer has signed, and that has ended since, is none. */
    readonly isGuess = true,
  ) {}
}

/** U+0000, which PostgreSQL cannot store, is left out of a subject. */
export const storedActor = (actor: string): string => actor.replaceAll('\0', '');

/** The setting by which the triggers that write events know the actor of all records of a statement; null: the actor is unknown. */
export const actorSetting = (actor: string | undefined): string | null =>
  actor === undefined ? null : `=${storedActor(actor)}`;

/** Subjects of plain characters up to this length are stored unchanged. */
const PLAIN_SUBJECT = /^[\x20-\x7e]{1,64}$/;

/**
 * The name of a caller in the database: at most 71 storable characters. A hash is longer than any unchanged subject, so
 * they cannot be confused. Callers without a credential have a name that no subject has.
 */
export function callerKey({ scheme, subject }: Pick<Principal, 'scheme' | 'subject'>): string {
  const isPlain = PLAIN_SUBJECT.test(subject) && (scheme === 'none' || subject !== NOBODY.subject);
  return isPlain ? subject : `sha256:${hash('sha256', JSON.stringify(subject), 'hex')}`;
}
