import { createHash, X509Certificate } from 'node:crypto';
import { timeOf } from '../../actions/secret-reply.js';
import type { Endpoint } from '../../api/endpoint.js';
import { type KnownScopes, managedEndpoints, type Store } from '../../api/managed-endpoints.js';
import { hashOf, newKey } from '../../auth/credentials/api-key-format.js';
import { scopesOf } from '../../auth/principal.js';
import { scopeFault } from '../../auth/user-scopes.js';
import { parseDate } from '../../config/parsers.js';
import { databaseErrorOf, UNIQUE_VIOLATION } from '../../db/database-errors.js';
import type { Db, Row } from '../../db/db.js';
import { fill, statements } from '../../db/statements.js';
import { invalid } from '../../errors/input-errors.js';
import type { Failure } from '../../errors/problem.js';
import { duplicate } from '../../errors/record-errors.js';
import type { Auth } from '../../feature.js';
import type { Json } from '../../json.js';
import { certificateBlocks } from '../../process/tls.js';
import { ABOVE_IDS, nextIdentity } from '../../uuid.js';
import { compileOnFirstUse } from '../../validation/validation.js';
import { KEY, KEY_SCHEMA } from './key-kind.js';

const KEYS_SQL = statements('features/keys/keys.sql', ['create', 'credentials', 'revoke']);

/** The services that endpoints of keys run with. */
export interface KeyServices {
  readonly db: Db;
  /** The stored credentials; undefined: keys are not accepted. */
  readonly lookup?: Auth['lookup'];
}

interface CredentialFields {
  readonly kind: 'key' | 'certificate';
  /** SHA-256 of the key, or of the certificate in DER; base64. */
  readonly hash: string;
  /** A name for people. */
  readonly label: string;
  readonly subject: string;
  readonly scopes: readonly string[];
  /** Milliseconds since 1970; undefined: never. */
  readonly expires: number | undefined;
}

/** A stored credential. Times in milliseconds since 1970. */
interface Credential extends CredentialFields {
  readonly id: string;
  readonly created: number;
  /** The last use, to within a minute; undefined: never. */
  readonly used: number | undefined;
}

/** Throws 409 when the certificate is stored already. */
export async function createCredential(db: Pick<Db, 'run'>, fields: CredentialFields): Promise<Credential> {
  const { kind, hash, label, subject, scopes, expires } = fields;
  const { id } = nextIdentity();
  const args = [id, kind, hash, label, subject, scopes.join(' '), expires ?? null];
  try {
    const [row] = await db.run(KEYS_SQL.create, args);
    return { ...fields, id, created: Number(row!.created), used: undefined };
  } catch (error) {
    if (databaseErrorOf(error)?.code === UNIQUE_VIOLATION)
      throw duplicate(['certificate'], 'CERTIFICATE_TAKEN');
    throw error;
  }
}

const credentialsSql = (which: string): string => fill(KEYS_SQL.credentials, { which });

async function getCredential({ run }: Pick<Db, 'run'>, id: string): Promise<Credential | undefined> {
  const [row] = await run(credentialsSql('id = $1'), [id, 1]);
  return row && credentialOf(row);
}

/** API keys and certificates. Other processes are notified of a deletion. */
export const STORED_KEYS: Store<Credential, CredentialInput, KnownScopes, KeyServices> = {
  read: ({ scopes }, body) => readCredentialInput(body, scopes),
  create: async (db, { input, key }) => ({ item: await createCredential(db, input), secret: key }),
  list: async ({ run }, after, max) =>
    (await run(credentialsSql('id < $1'), [after ?? ABOVE_IDS, max])).map(credentialOf),
  get: getCredential,
  remove: async ({ db, lookup }, id, permit) => {
    permit(await getCredential(db, id));
    const [row] = await db.run(KEYS_SQL.revoke, [id]);
    if (row) lookup?.forget(String(row.hash));
    return row !== undefined;
  },
  shown,
};

export const KEYS: readonly Endpoint<KnownScopes & KeyServices>[] = managedEndpoints(KEY, STORED_KEYS);

function credentialOf(row: Row): Credential {
  return {
    id: String(row.id),
    kind: row.kind as Credential['kind'],
    hash: String(row.hash),
    label: String(row.label),
    subject: String(row.subject),
    scopes: [...scopesOf(row.scopes)],
    created: Number(row.created),
    expires: (row.expires ?? undefined) as number | undefined,
    used: (row.used ?? undefined) as number | undefined,
  };
}

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
