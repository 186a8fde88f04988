import { createHash, X509Certificate } from 'node:crypto';
import { timeOf } from '../actions/secret-reply.js';
import { hashOf, newKey } from '../auth/credentials/api-key-format.js';
import type { CredentialCache } from '../auth/credentials/credential-cache.js';
import {
  type Credential,
  type CredentialFields,
  createCredential,
  getCredential,
  listCredentials,
  revokeCredential,
} from '../auth/credentials/credentials.js';
import { scopeFault } from '../auth/user-scopes.js';
import { parseDate } from '../config/parsers.js';
import type { Db } from '../db/db.js';
import { invalid } from '../errors/input-errors.js';
import type { Failure } from '../errors/problem.js';
import type { Json } from '../json.js';
import { certificateBlocks } from '../process/tls.js';
import { compileOnFirstUse } from '../validation/validation.js';
import type { Endpoint } from './endpoint.js';
import { KEY, KEY_SCHEMA } from './key-kind.js';
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

/** A credential to store, and the API key, which is not stored; undefined for a certificate. */
export interface CredentialInput {
  readonly input: CredentialFields;
  readonly key: string | undefined;
}

const check = compileOnFirstUse({
  schema: KEY_SCHEMA,
  normalize: { label: ['trim', 'nfc'], subject: ['trim'] },
});

/**
 * Validates the fields of a new credential and generates a key unless there is a certificate. `known` are the valid
 * scopes. Throws 400.
 */
export function readCredentialInput(input: Json | undefined, known: readonly string[]): CredentialInput {
  const { label, subject, scopes, expires_at, certificate } = check(input).fields as unknown as Fields;
  const failures: Failure[] = scopes.flatMap((scope, index) => {
    const message = scopeFault(scope, known);
    return message === undefined ? [] : [{ path: `/scopes/${index}`, message, keyword: 'enum' }];
  });
  const expires = expires_at === undefined ? undefined : parseDate(expires_at)?.getTime();
  if (expires_at !== undefined && !(expires! > Date.now()))
    failures.push({
      path: '/expires_at',
      message: 'must be a time in the future, in the format of RFC 3339',
      keyword: 'format',
    });
  const thumbprint = certificate === undefined ? undefined : thumbprintOf(certificate);
  if (certificate !== undefined && thumbprint === undefined)
    failures.push({ path: '/certificate', message: 'must be one certificate in PEM', keyword: 'format' });
  if (failures.length > 0) throw invalid(failures);
  const common = { label, subject, scopes, expires };
  if (thumbprint !== undefined)
    return { input: { ...common, kind: 'certificate', hash: thumbprint }, key: undefined };
  const key = newKey();
  return { input: { ...common, kind: 'key', hash: hashOf(key) }, key };
}

interface Fields {
  readonly label: string;
  readonly subject: string;
  readonly scopes: readonly string[];
  readonly expires_at?: string;
  readonly certificate?: string;
}

/** SHA-256 of the DER of the one certificate in a PEM text, base64; other text is ignored. */
function thumbprintOf(pem: string): string | undefined {
  const blocks = certificateBlocks(pem);
  if (blocks.length !== 1) return undefined;
  try {
    return createHash('sha256').update(new X509Certificate(blocks[0]!).raw).digest('base64');
  } catch {
    return undefined;
  }
}
