import type { Db, Row } from '../../db/db.js';
import { databaseErrorOf, UNIQUE_VIOLATION } from '../../db/sqlstate.js';
import { readStatements } from '../../db/statements.js';
import { duplicate } from '../../errors.js';
import { scopesOf } from '../../principal.js';
import { nextIdentity } from '../../uuid.js';

export type Kind = 'key' | 'certificate';

/** What somebody is given: a name for people to know it by, who it stands for, and what that one may do. */
export interface CredentialFields {
  readonly kind: Kind;
  /** SHA-256 of the key, or of the certificate in DER; base64. */
  readonly hash: string;
  readonly label: string;
  readonly subject: string;
  readonly scopes: readonly string[];
  /** Milliseconds since 1970; undefined: never. */
  readonly expires: number | undefined;
}

/** A grant as it is stored. Times in milliseconds since 1970. */
export interface Credential extends CredentialFields {
  readonly id: string;
  readonly created: number;
  /** Less than a minute before it was last used; undefined: it never was. */
  readonly used: number | undefined;
}

const SQL = readStatements('auth.sql');

/** The last one of a list may be told from the end of it by one more. */
export const PAGE = 1000;

/** Above every UUIDv7. */
const ABOVE = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** Stores a grant. Throws 409 when the certificate has one. */
export async function createCredential(db: Db, grant: CredentialFields): Promise<Credential> {
  const { kind, hash, label, subject, scopes, expires } = grant;
  const { id } = nextIdentity();
  const args = [id, kind, hash, label, subject, scopes.join(' '), expires ?? null];
  try {
    const [row] = await db.run(SQL.get('create_credential')!, args);
    return { ...grant, id, created: Number(row!.created), used: undefined };
  } catch (error) {
    if (databaseErrorOf(error)?.code === UNIQUE_VIOLATION)
      throw duplicate('certificate', 'CERTIFICATE_TAKEN');
    throw error;
  }
}

/** The newest ones, or those older than the one with the id `after`: up to PAGE, and one more when there is. */
export async function listCredentials(db: Db, after: string | undefined): Promise<Credential[]> {
  return (await db.run(SQL.get('list_credentials')!, [after ?? ABOVE, PAGE + 1])).map(credentialOf);
}

export async function getCredential(db: Db, id: string): Promise<Credential | undefined> {
  const [row] = await db.run(SQL.get('get_credential')!, [id]);
  return row && credentialOf(row);
}

/** Takes a grant back, in all processes. Gives its hash; undefined: there is none with this id. */
export async function revokeCredential(db: Db, id: string): Promise<string | undefined> {
  const [row] = await db.run(SQL.get('revoke_credential')!, [id]);
  return row && String(row.hash);
}

/** What a request's credential stands for. */
export interface Found {
  readonly kind: Kind;
  readonly subject: string;
  readonly scopes: ReadonlySet<string>;
  readonly expires: number | undefined;
}

/** The grant of a hash. That it is used is written down, at most once a minute. */
export async function findCredential(db: Db, hash: string): Promise<Found | undefined> {
  const [row] = await db.run(SQL.get('find_credential')!, [hash]);
  if (!row) return undefined;
  const { kind, subject, scopes, expires } = row;
  return {
    kind: kind as Kind,
    subject: String(subject),
    scopes: scopesOf(scopes),
    expires: millis(expires),
  };
}

function credentialOf(row: Row): Credential {
  return {
    id: String(row.id),
    kind: row.kind as Kind,
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
