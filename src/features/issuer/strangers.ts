import type { errors as providerErrors } from 'oidc-provider';
import type { Core } from '../../app/open-features.js';
import { errors, Provider } from './oidc-provider.js';
import { presentRequest } from './present-request.js';

/** The models that anybody can have stored before a user is known. */
const MODELS: ReadonlySet<string> = new Set([
  'Session',
  'Interaction',
  'PushedAuthorizationRequest',
  'DeviceCode',
]);

const WINDOW_S = 60;

/** Seconds for which a record without a user lives: as long as a user has to sign in. */
export const STRANGER_S = 15 * 60;

/** Records without a user in the database, of all processes. The oldest make room for new ones. */
export const MAX_STRANGERS = 50_000;

/** Whether a record belongs to no user yet. */
export const isStranger = (model: string, accountId: string | undefined): boolean =>
  accountId === undefined && MODELS.has(model);

/**
 * Limits what strangers can have the authorization server store. `perAddress`: sign-ins that begin in a minute from an address, of IPv6
 * from a /56; 0: any number. The returned function counts a request that stores a new record without a user, once, against its
 * address. A client that has proved its secret is not a stranger. Rejects with 429.
 */
export function limitStrangers(
  perAddress: number,
  limitAddresses: Core['limitAddresses'],
): () => Promise<void> {
  if (perAddress === 0) return async () => undefined;
  const limit = limitAddresses('sign-ins', { requests: perAddress, seconds: WINDOW_S });
  return async () => {
    const { ctx } = Provider;
    const request = presentRequest();
    if (!ctx || request?.address === undefined) return;
    const { client, route } = ctx.oidc;
    const isProved = client !== undefined && client.clientAuthMethod !== 'none';
    if (isProved && (route === 'pushed_authorization_request' || route === 'device_authorization')) return;
    const refusedFor = await limit(request.address);
    if (refusedFor !== undefined) throw tooManySignIns(refusedFor);
    request.address = undefined;
  };
}

function tooManySignIns(retryAfterS: number): providerErrors.OIDCProviderError {
  Provider.ctx?.set('Retry-After', String(retryAfterS));
  const error = new errors.TemporarilyUnavailable(
    'Too many sign-ins begin from this address. Try again later.',
  );
  return Object.assign(error, { status: 429, statusCode: 429 });
}
