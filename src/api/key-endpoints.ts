import { timeOf } from '../actions/secret-reply.js';
import type { CredentialCache } from '../auth/credentials/credential-cache.js';
import {
  type Credential,
  createCredential,
  getCredential,
  listCredentials,
  revokeCredential,
} from '../auth/credentials/credentials.js';
import type { Db } from '../db/db.js';
import { noKeysAccepted } from '../errors/request-errors.js';
import { at, type Endpoint } from './endpoint.js';
import { type CredentialInput, readCredentialInput } from './key-input.js';
import { KEY } from './key-kind.js';
import { type KnownScopes, managedEndpoints, type Store } from './managed-endpoints.js';

/** The services that endpoints of keys run with. */
export interface KeyServices {
  readonly db: Db;
  /** The stored credentials; undefined: keys are not accepted. */
  readonly lookup?: CredentialCache | undefined;
}

/** API keys and certificates. Other processes are notified of a deletion. */
export const STORED_KEYS: Store<Credential, CredentialInput, KnownScopes, KeyServices> = {
  read: ({ scopes }, body) => readCredentialInput(body, scopes),
  create: async (db, { input, key }) => ({ item: await createCredential(db, input), secret: key }),
  list: listCredentials,
  get: getCredential,
  remove: async ({ db, lookup }, id, permit) => {
    permit(await getCredential(db, id));
    const hash = await revokeCredential(db, id);
    if (hash !== undefined) lookup?.forget(hash);
    return hash !== undefined;
  },
  shown,
};

export const KEYS: readonly Endpoint<KnownScopes & KeyServices>[] = managedEndpoints(KEY, STORED_KEYS);

/** In place of `KEYS`, where AUTH names no scheme for them: explains why there is nothing to manage, with 404. */
export const NO_KEYS: Endpoint = {
  ...at('GET', KEY.path, 'nothing'),
  homeLink: KEY.homeLink,
  kind: KEY,
  run: () => {
    throw noKeysAccepted();
  },
};

/** A credential without the hash of a key; a certificate has its thumbprint (RFC 8705). */
function shown(credential: Credential): Record<string, unknown> {
  const { id, kind, hash, label, subject, scopes, created, expires, used } = credential;
  return {
    id,
    kind,
    label,
    subject,
    scopes,
    created_at: timeOf(created),
    expires_at: timeOf(expires),
    last_used_at: timeOf(used),
    ...(kind === 'certificate' ? { thumbprint: Buffer.from(hash, 'base64').toString('base64url') } : {}),
  };
}
