import { createHash, X509Certificate } from 'node:crypto';
import { hashOf, newKey } from '../auth/credentials/api-key-format.js';
import type { CredentialFields } from '../auth/credentials/credentials.js';
import { scopeFault } from '../auth/user-scopes.js';
import { parseDate } from '../config/parsers.js';
import { invalid } from '../errors/input-errors.js';
import type { Failure } from '../errors/problem.js';
import type { Json } from '../json.js';
import { certificateBlocks } from '../process/tls.js';
import { compileOnFirstUse } from '../validation/validation.js';
import { KEY_SCHEMA } from './key-kind.js';

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
