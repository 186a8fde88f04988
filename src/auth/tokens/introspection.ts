import QuickLRU from 'quick-lru';
import type { Config } from '../../config/config.js';
import { unavailable } from '../../errors.js';
import { scopesOf } from '../../principal.js';
import type { Problem } from '../../problem.js';
import type { Log } from '../../telemetry/log.js';
import { Refusal } from '../scheme.js';
import {
  certificateIn,
  MAX_CHARACTERS,
  refusal,
  secondsIn,
  type Token,
  TokenCache,
  type TokenSource,
} from './access-token.js';
import { objectIn, RemoteError, requestJson } from './issuer-client.js';
import { requireAccessClaims } from './token-kind.js';
import { subjectOf } from './token-subject.js';

export type IntrospectionSettings = Pick<
  Config,
  | 'introspectionUri'
  | 'introspectionClientId'
  | 'introspectionClientSecret'
  | 'issuer'
  | 'audience'
  | 'jwtSkewSeconds'
>;

/** How long an answer counts: that a token is good, and that it is not. */
const GOOD_MS = 30_000;
const BAD_MS = 5000;
/** Questions at a time. */
const MAX_ASKED = 64;
/** Tokens remembered as no good. Apart from the good ones, which strangers must not push out. */
const MAX_BAD = 5000;

type Answer = Readonly<Record<string, unknown>>;

/**
 * Asks the authorization server about tokens that mean nothing to us (RFC 7662). Throws a Refusal, and 503 when the
 * server is away, talks nonsense, does not take our own credentials or has enough questions to answer.
 */
export function introspection(settings: IntrospectionSettings, log: Log, timeoutMs: number): TokenSource {
  const uri = settings.introspectionUri!;
  const headers = {
    'Content-Type': 'application/x-www-form-urlencoded',
    ...authorizationOf(settings),
  };
  const good = new TokenCache();
  const bad = new QuickLRU<string, { readonly refusal: Refusal; readonly until: number }>({
    maxSize: MAX_BAD / 2,
  });
  let asked = 0;

  const fail = (error: RemoteError): Problem => {
    log.error({ err: error }, 'a token cannot be introspected');
    return unavailable('The authorization server does not tell now whether the access token is good.');
  };

  async function question(text: string): ReturnType<typeof requestJson> {
    if (asked >= MAX_ASKED)
      throw unavailable('The authorization server has enough access tokens to tell about.');
    asked++;
    try {
      const body = new URLSearchParams({ token: text, token_type_hint: 'access_token' }).toString();
      return await requestJson(uri, AbortSignal.timeout(timeoutMs), { method: 'POST', headers, body });
    } catch (error) {
      throw error instanceof RemoteError ? fail(error) : error;
    } finally {
      asked--;
    }
  }

  async function verify(text: string): Promise<Token> {
    const { status, json } = await question(text);
    // Not the client's fault, whatever the status: 401 says that our own credentials are wrong.
    if (status !== 200) throw fail(new RemoteError(`${uri}: status ${status}`));
    const answer = objectIn(json);
    if (typeof answer?.active !== 'boolean') throw fail(new RemoteError(`${uri}: no answer of RFC 7662`));
    try {
      return judge(answer, settings, Date.now());
    } catch (error) {
      if (error instanceof Refusal && text.length <= MAX_CHARACTERS)
        bad.set(text, { refusal: error, until: Date.now() + BAD_MS });
      throw error;
    }
  }

  return {
    known: (text) => good.known(text),
    token: async (text) => {
      const known = bad.get(text);
      if (known && Date.now() < known.until) throw known.refusal;
      return good.find(text, verify);
    },
  };
}

/** RFC 6749 section 2.3.1: both are form-encoded first. */
function authorizationOf({
  introspectionClientId: id,
  introspectionClientSecret: secret,
}: IntrospectionSettings) {
  if (id === '') return {};
  const encoded = [id, secret].map((part) => new URLSearchParams({ '': part }).toString().slice(1));
  return { Authorization: `Basic ${Buffer.from(encoded.join(':')).toString('base64')}` };
}

/** The token that an answer tells of (RFC 7662 section 2.2) at a time in milliseconds since 1970. Throws a Refusal. */
function judge(answer: Answer, settings: IntrospectionSettings, at: number): Token {
  if (answer.active !== true) throw refusal('The access token is not active.');
  requireAccessClaims(answer);
  if (!isBearer(answer)) throw refusal('The token is not an access token.');
  const { iss, aud } = answer;
  if (iss !== undefined && settings.issuer !== undefined && iss !== settings.issuer)
    throw refusal('The access token is of another issuer.');
  if (settings.audience !== undefined && ![aud].flat().includes(settings.audience))
    throw refusal('The access token is for another audience.');
  const expiresAt = timely(answer, settings.jwtSkewSeconds, at);
  return {
    principal: {
      subject: subjectOf({ ...answer, sub: answer.sub ?? answer.client_id }),
      scopes: scopesOf(answer.scope),
      scheme: 'bearer',
      expiresAt,
    },
    certificate: certificateIn(answer.cnf),
    id: undefined,
    goodUntil: Math.min((expiresAt ?? Number.POSITIVE_INFINITY) * 1000, at + GOOD_MS),
  };
}

/** RFC 7662 section 2.2; refresh tokens that are introspected have none, or another. */
function isBearer({ token_type: type }: Answer): boolean {
  return type === undefined || String(type).toLowerCase() === 'bearer';
}

/** When the token expires, in seconds since 1970. Throws a Refusal when that is past, or it is not good yet. */
function timely({ exp, nbf }: Answer, skewSeconds: number, at: number): number | undefined {
  const expiresAt = secondsIn(exp);
  if (expiresAt !== undefined && (expiresAt + skewSeconds) * 1000 <= at)
    throw refusal('The access token has expired.');
  if (((secondsIn(nbf) ?? 0) - skewSeconds) * 1000 > at) throw refusal('The access token is not good yet.');
  return expiresAt;
}
