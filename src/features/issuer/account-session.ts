import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Provider } from 'oidc-provider';
import { SESSION_COOKIE, writeCookie } from '../../auth/cookies.js';
import { isYoungerThan } from '../../auth/principal.js';
import { usesHttps } from '../../config/parsers.js';
import type { HandledRequest } from '../../http/request.js';
import type { InteractionParts } from './interactions.js';
import { SESSION_S } from './settings.js';

export type Session = InstanceType<Provider['Session']>;
type Config = InteractionParts['config'];

/** How long after a sign-in a passkey may be added, which is a way to sign in for good. */
const RECENT_S = 10 * 60;

/** The session of a signed-in user; undefined: no user is signed in. */
export async function sessionOf(
  provider: Provider,
  { req, res }: HandledRequest,
): Promise<Session | undefined> {
  const found = await provider.Session.get(provider.createContext(req, res) as never);
  return found.accountId === undefined ? undefined : found;
}

/** A new session of a user who has entered the password. */
export async function beginSession(provider: Provider, accountId: string): Promise<Session> {
  const session = new provider.Session();
  session.loginAccount({ accountId, amr: ['pwd'] });
  await session.save(SESSION_S);
  return session;
}

export const isRecent = ({ loginTs }: Session): boolean => isYoungerThan(RECENT_S, loginTs);

/** The fields that set the cookies of a session; an empty id removes them. */
export function sessionCookies(
  provider: Provider,
  config: Config,
  req: IncomingMessage,
  id: string,
): string[] {
  return [...providerCookie(provider, config, req, id), ...browserCookie(config, id)];
}

/**
 * The cookie by which pages know the user. Unlike that of oidc-provider, which a request from the site of a client must
 * carry, no request from another site carries it.
 */
export function browserCookie(config: Config, id: string): string[] {
  return ['Set-Cookie', writeCookie(SESSION_COOKIE, id, usesHttps(config), id === '' ? 0 : SESSION_S)];
}

/** The fields that set the cookie of the session, in the form that oidc-provider reads. */
function providerCookie(provider: Provider, config: Config, req: IncomingMessage, id: string): string[] {
  // Node 20 drops repeated fields of a response on which a field was set before, even if it was removed again.
  const carrier = new ServerResponse(req);
  const { cookies } = provider.createContext(req, carrier);
  const secure = config.issuer!.startsWith('https:');
  cookies.secure = secure;
  cookies.set(provider.cookieName('session'), id, {
    httpOnly: true,
    sameSite: 'lax',
    signed: true,
    overwrite: true,
    path: '/',
    secure,
    maxAge: id === '' ? 0 : SESSION_S * 1000,
  });
  return [carrier.getHeader('Set-Cookie') ?? []].flat().flatMap((field) => ['Set-Cookie', String(field)]);
}
