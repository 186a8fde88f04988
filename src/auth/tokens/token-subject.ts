import { refusal } from './access-token.js';

type Claims = Readonly<Record<string, unknown>>;

/**
 * The subject of a verified token: `sub`, with the prefix `client:` where a client acts for itself. No user's id has that
 * prefix, so the scope `self` never applies to a client (RFC 9068 section 5). Throws a Refusal without `sub`.
 */
export function subjectOf(claims: Claims): string {
  const { sub } = claims;
  if (typeof sub !== 'string' || sub === '') throw refusal('The access token has no subject.');
  return isClient(sub, claims) ? `client:${sub}` : sub;
}

function isClient(sub: string, claims: Claims): boolean {
  const { iss, client_id, azp, appid, cid, gty, idtyp, oid, scp } = claims;
  const client = client_id ?? azp;
  return (
    // RFC 9068 section 2.2; a service account of Google signs for itself.
    [client_id, azp, appid, cid, iss].includes(sub) ||
    // Auth0.
    sub === `${client}@clients` ||
    gty === 'client-credentials' ||
    // Entra ID: `sub` is the object id only where no user is involved.
    idtyp === 'app' ||
    (sub === oid && scp === undefined) ||
    // Keycloak, which stores names in lower case.
    (typeof client === 'string' && isServiceAccount(claims, `service-account-${client}`.toLowerCase()))
  );
}

function isServiceAccount({ preferred_username, username }: Claims, name: string): boolean {
  return preferred_username === name || username === name;
}
