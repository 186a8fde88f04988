import { readCredentialInput } from '../../src/api/key-endpoints.js';
import { createCredential } from '../../src/auth/credentials/credentials.js';
import type { Db } from '../../src/db/db.js';
import type { JsonObject } from '../../src/json.js';

/** Stores a key without a service; by default with the scope admin. */
export async function makeKey(db: Db, more: JsonObject = {}): Promise<{ id: string; key: string }> {
  const scopes = (more.scopes ?? ['admin']) as string[];
  const { input, key } = readCredentialInput({ label: 'test', subject: 'tester', ...more, scopes }, scopes);
  const { id } = await createCredential(db, input);
  return { id, key: key ?? '' };
}
