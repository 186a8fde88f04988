import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { AdapterPayload } from 'oidc-provider';
import { timeOf } from '../../actions/secret-reply.js';
import { type Created, inTable, type Stored } from '../../api/managed-endpoints.js';
import { scopesOf } from '../../auth/principal.js';
import type { Db, Row } from '../../db/db.js';
import { nextIdentity, parseUuid } from '../../uuid.js';
import { ID_TOKEN_ALGORITHMS, type IdTokenAlgorithm } from './client-kind.js';
import { ISSUER_SQL } from './issuer-statements.js';
import { API_SCOPES } from './own-tokens.js';

/** Names of our own in a client's metadata: its scopes of this API, the format of its access tokens, and whether users see no consent. */
export { API_SCOPES };
export const TOKEN_FORMAT = 'plinth_token_format';
export const FIRST_PARTY = 'plinth_first_party';

/** A client as operators see it. */
export interface ClientFields {
  /** A name for people. */
  readonly name: string;
  /** A confidential one has a secret. */
  readonly type: 'public' | 'confidential';
  readonly grant_types: readonly string[];
  /** Of a native client, loopback addresses with any port; of any client, exact ones. */
  readonly redirect_uris: readonly string[];
  /** Where users may return to after they signed out; compared as redirect URIs are. */
  readonly post_logout_redirect_uris: readonly string[];
  /** The scopes of this API that the client may have. */
  readonly scopes: readonly string[];
  readonly token_format: 'jwt' | 'opaque';
  readonly id_token_signed_response_alg: IdTokenAlgorithm;
  /** Whether the client is an application of the operator, to which users need not consent. */
  readonly first_party: boolean;
}

export interface StoredClient extends ClientFields, Stored {
  readonly created_at: string;
}

/** How clients are read, changed and deleted. A change leaves the secret; a deletion ends all grants and tokens. */
export const CLIENT_TABLE = inTable(
  {
    list: ISSUER_SQL.list_clients,
    firstId: '',
    get: ISSUER_SQL.get_client,
    lock: ISSUER_SQL.lock_client,
    change: ISSUER_SQL.change_client,
    remove: ISSUER_SQL.delete_client,
  },
  clientOf,
  (fields: ClientFields, { id, metadata }) => {
    const { client_secret: secret } = JSON.parse(String(metadata)) as { client_secret?: string };
    return [JSON.stringify(metadataOf(String(id), fields, secret))];
  },
);

/** Stores a client. The secret of a confidential one is returned once; the database has its SHA-256. */
export async function createClient(
  db: Pick<Db, 'run'>,
  fields: ClientFields,
): Promise<Created<StoredClient>> {
  const { id } = nextIdentity();
  const secret = fields.type === 'confidential' ? randomBytes(32).toString('base64url') : undefined;
  const metadata = metadataOf(id, fields, secret === undefined ? undefined : secretHash(secret));
  const [row] = await db.run(ISSUER_SQL.create_client, [id, JSON.stringify(metadata)]);
  return { item: clientOf(row!), secret };
}

/** A client's metadata as oidc-provider reads it. */
export async function findMetadata(db: Db, id: string): Promise<AdapterPayload | undefined> {
  // A request may name anything, also text that the database cannot store.
  if (parseUuid(id) === undefined) return undefined;
  const [row] = await db.run(ISSUER_SQL.find_client, [id]);
  return row && (JSON.parse(String(row.metadata)) as AdapterPayload);
}

/** Whether a client's secret has the stored SHA-256. A secret has 256 random bits, so it needs no slow hash. */
export function isSecret(secret: string, stored: string): boolean {
  return timingSafeEqual(Buffer.from(secretHash(secret)), Buffer.from(stored));
}

const secretHash = (secret: string) => hash('sha256', secret, 'base64url');

/** `secret`: its SHA-256; undefined for a public client. */
function metadataOf(id: string, fields: ClientFields, secret: string | undefined) {
  const { name, type: _, scopes, token_format, first_party, ...metadata } = fields;
  return {
    client_id: id,
    client_name: name,
    application_type: isNative(fields) ? 'native' : 'web',
    ...metadata,
    response_types: fields.grant_types.includes('authorization_code') ? ['code'] : [],
    token_endpoint_auth_method: secret === undefined ? 'none' : 'client_secret_basic',
    ...(secret === undefined ? {} : { client_secret: secret }),
    [API_SCOPES]: scopes.join(' '),
    [TOKEN_FORMAT]: token_format,
    [FIRST_PARTY]: first_party,
  };
}

/** Clients of earlier versions have no addresses after a sign-out, no algorithm and no FIRST_PARTY. */
function clientOf({ id, metadata, version, created }: Row): StoredClient {
  const stored = JSON.parse(String(metadata));
  return {
    id: String(id),
    version: Number(version),
    name: stored.client_name,
    type: stored.token_endpoint_auth_method === 'none' ? 'public' : 'confidential',
    grant_types: stored.grant_types,
    redirect_uris: stored.redirect_uris,
    post_logout_redirect_uris: stored.post_logout_redirect_uris ?? [],
    scopes: [...scopesOf(stored[API_SCOPES])],
    token_format: stored[TOKEN_FORMAT],
    id_token_signed_response_alg: stored.id_token_signed_response_alg ?? ID_TOKEN_ALGORITHMS[0],
    first_party: stored[FIRST_PARTY] ?? false,
    created_at: timeOf(Number(created))!,
  };
}

/** Whether a client is an application on a device: an address has a scheme of its own, or all are loopback addresses. */
export function isNative({ type, redirect_uris, post_logout_redirect_uris }: ClientFields): boolean {
  const uris = [...redirect_uris, ...post_logout_redirect_uris];
  if (type === 'confidential' || uris.length === 0) return false;
  return uris.some((uri) => !/^https?:/i.test(uri)) || !uris.some((uri) => /^https:/i.test(uri));
}
