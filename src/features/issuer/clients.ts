import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { AdapterPayload } from 'oidc-provider';
import type { Created } from '../../api/managed-endpoints.js';
import { scopesOf } from '../../auth/principal.js';
import type { Db, Row, Run } from '../../db/db.js';
import { nextIdentity, parseUuid } from '../../uuid.js';
import { type GrantType, ID_TOKEN_ALGORITHMS, type IdTokenAlgorithm } from './client-kind.js';
import { ISSUER_SQL } from './issuer-statements.js';
import { API_SCOPES } from './own-tokens.js';

/** Names of our own in a client's metadata: its scopes of this API, and the format of its access tokens. */
export { API_SCOPES };
export const TOKEN_FORMAT = 'plinth_token_format';

/** A client as operators see it. */
export interface ClientFields {
  /** A name for people. */
  readonly name: string;
  /** Whether the client has a secret. */
  readonly confidential: boolean;
  readonly grantTypes: readonly GrantType[];
  /** Of a native client, loopback addresses with any port; of any client, exact ones. */
  readonly redirectUris: readonly string[];
  /** Where users may return to after they signed out; compared as redirect URIs are. */
  readonly postLogoutRedirectUris: readonly string[];
  readonly native: boolean;
  /** The scopes of this API that the client may have. */
  readonly scopes: readonly string[];
  readonly tokenFormat: 'jwt' | 'opaque';
  readonly idTokenAlgorithm: IdTokenAlgorithm;
}

export interface StoredClient extends ClientFields {
  readonly id: string;
  /** Counts changes, from 1. */
  readonly version: number;
  /** Milliseconds since 1970. */
  readonly created: number;
}

/** Stores a client. The secret of a confidential one is returned once; the database has its SHA-256. */
export async function createClient(
  db: Pick<Db, 'run'>,
  fields: ClientFields,
): Promise<Created<StoredClient>> {
  const { id } = nextIdentity();
  const secret = fields.confidential ? randomBytes(32).toString('base64url') : undefined;
  const metadata = JSON.stringify(
    metadataOf(id, fields, secret === undefined ? undefined : secretHash(secret)),
  );
  const [row] = await db.run(ISSUER_SQL.create_client, [id, metadata]);
  return { item: { ...fields, id, version: 1, created: Number(row!.created) }, secret };
}

/** Changes the fields with `change`, one change at a time. The secret stays. Undefined for an unknown id. */
export async function changeClient(
  db: Pick<Db, 'transaction'>,
  id: string,
  change: (client: StoredClient) => ClientFields,
): Promise<StoredClient | undefined> {
  return await db.transaction(async (run: Run) => {
    const [row] = await run(ISSUER_SQL.lock_client, [id]);
    if (!row) return undefined;
    const { client_secret: secret } = JSON.parse(String(row.metadata)) as Metadata;
    const metadata = JSON.stringify(metadataOf(id, change(clientOf(row)), secret));
    const [changed] = await run(ISSUER_SQL.change_client, [id, metadata]);
    return clientOf(changed!);
  });
}

/** The clients after an id, by id: up to `max`. */
export async function listClients(db: Db, after: string | undefined, max: number): Promise<StoredClient[]> {
  return (await db.run(ISSUER_SQL.list_clients, [after ?? '', max])).map(clientOf);
}

export async function getClient(db: Db, id: string): Promise<StoredClient | undefined> {
  const [row] = await db.run(ISSUER_SQL.get_client, [id]);
  return row && clientOf(row);
}

/** Deletes a client with all its grants and tokens. False for an unknown id. */
export async function deleteClient(db: Db, id: string): Promise<boolean> {
  return (await db.run(ISSUER_SQL.delete_client, [id])).length > 0;
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

type Metadata = ReturnType<typeof metadataOf>;

/** `secret`: its SHA-256; undefined for a public client. */
function metadataOf(id: string, fields: ClientFields, secret: string | undefined) {
  const { name, grantTypes, redirectUris, postLogoutRedirectUris, native, scopes } = fields;
  return {
    client_id: id,
    client_name: name,
    application_type: native ? 'native' : 'web',
    grant_types: grantTypes,
    response_types: grantTypes.includes('authorization_code') ? ['code'] : [],
    redirect_uris: redirectUris,
    post_logout_redirect_uris: postLogoutRedirectUris,
    id_token_signed_response_alg: fields.idTokenAlgorithm,
    token_endpoint_auth_method: secret === undefined ? 'none' : 'client_secret_basic',
    ...(secret === undefined ? {} : { client_secret: secret }),
    [API_SCOPES]: scopes.join(' '),
    [TOKEN_FORMAT]: fields.tokenFormat,
  };
}

/** Clients of earlier versions have neither addresses after a sign-out nor an algorithm. */
function clientOf({ id, metadata, version, created }: Row): StoredClient {
  const stored = JSON.parse(String(metadata)) as Metadata;
  const { post_logout_redirect_uris = [], id_token_signed_response_alg = ID_TOKEN_ALGORITHMS[0] } =
    stored as Partial<Metadata>;
  return {
    id: String(id),
    name: stored.client_name,
    confidential: stored.token_endpoint_auth_method !== 'none',
    grantTypes: stored.grant_types,
    redirectUris: stored.redirect_uris,
    postLogoutRedirectUris: post_logout_redirect_uris,
    native: stored.application_type === 'native',
    scopes: [...scopesOf(stored[API_SCOPES])],
    tokenFormat: stored[TOKEN_FORMAT],
    idTokenAlgorithm: id_token_signed_response_alg,
    version: Number(version),
    created: Number(created),
  };
}
