import { AUTH_SQL } from '../../db/core-statements.js';
import { databaseErrorOf, UNIQUE_VIOLATION } from '../../db/database-errors.js';
import type { Db, Row } from '../../db/db.js';
import { fill } from '../../db/statements.js';
import { duplicate } from '../../errors/record-errors.js';
import { ABOVE_IDS, nextIdentity } from '../../uuid.js';
import { type Principal, scopesOf } from '../principal.js';

export type CredentialKind = 'key' | 'certificate';

export interface CredentialFields {
  readonly kind: CredentialKind;
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
export interface Credential extends CredentialFields {
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
    const [row] = await db.run(AUTH_SQL.create_credential, args);
    return { ...fields, id, created: Number(row!.created), used: undefined };
  } catch (error) {
    if (databaseErrorOf(error)?.code === UNIQUE_VIOLATION)
      throw duplicate(['certificate'], 'CERTIFICATE_TAKEN');
    throw error;
  }
}

const credentialsSql = (which: string): string => fill(AUTH_SQL.credentials, { which });

/** The newest credentials, or those older than the id `after`: up to `max`. */
export async function listCredentials(db: Db, after: string | undefined, max: number): Promise<Credential[]> {
  return (await db.run(credentialsSql('id < $1'), [after ?? ABOVE_IDS, max])).map(credentialOf);
}

export async function getCredential(db: Db, id: string): Promise<Credential | undefined> {
  const [row] = await db.run(credentialsSql('id = $1'), [id, 1]);
  return row && credentialOf(row);
}

/** Revokes a credential in all processes. Returns its hash; undefined for an unknown id. */
export async function revokeCredential(db: Db, id: string): Promise<string | undefined> {
  const [row] = await db.run(AUTH_SQL.revoke_credential, [id]);
  return row && String(row.hash);
}

/** A stored credential, and the caller that it identifies. */
export interface Found {
  readonly kind: CredentialKind;
  readonly principal: Principal;
}

/** The credential with a hash. Records its use, at most once a minute. */
export async function findCredential(db: Db, hash: string): Promise<Found | undefined> {
  const [row] = await db.run(AUTH_SQL.find_credential, [hash]);
  if (!row) return undefined;
  const { kind, subject, scopes, expires } = row;
  const principal: Principal = {
    subject: String(subject),
    scopes: scopesOf(scopes),
    scheme: kind === 'key' ? 'api-key' : 'mtls',
    expiresAt: typeof expires === 'number' ? expires / 1000 : undefined,
    credential: hash,
  };
  return { kind: kind as CredentialKind, principal };
}

function credentialOf(row: Row): Credential {
  return {
    id: String(row.id),
    kind: row.kind as CredentialKind,
    hash: String(row.hash),
    label: String(row.label),
    subject: String(row.subject),
    scopes: [...scopesOf(row.scopes)],
    created: Number(row.created),
    expires: millis(row.expires),
    used: millis(row.used),
  };
}

function millis(value: Row[string] | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined;
}
