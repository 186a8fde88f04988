import type { Db } from '../../src/db/db.js';
import { createCredential, readCredentialInput } from '../../src/features/keys/stored-keys.js';
import type { JsonObject } from '../../src/json.js';
import type { TestService } from './service.js';

/** The password of every user in tests that name no other. */
export const PASSWORD = 'correct horse battery staple';

/** The header fields of a caller with a password, a token or an API key. */
export const byPassword = (email: string, password = PASSWORD) => ({
  authorization: `Basic ${Buffer.from(`${email}:${password}`).toString('base64')}`,
});
export const byToken = (token: string) => ({ authorization: `Bearer ${token}` });
export const byKey = (key: string) => ({ 'x-api-key': key });

/** Stores a user without a request; by default with that password. */
export async function makeUser(
  { collections }: Pick<TestService, 'collections'>,
  email: string,
  more: JsonObject = { password: PASSWORD },
): Promise<{ readonly id: string; readonly email: string }> {
  const users = collections.find(({ resource }) => resource.hasPasswords)!.whole;
  const { id } = await users.create(users.check({ email, name: 'Ann', ...more }));
  return { id, email };
}

/** Stores a key without a service; by default with the scope admin. */
export async function makeKey(db: Db, more: JsonObject = {}): Promise<{ id: string; key: string }> {
  const scopes = (more.scopes ?? ['admin']) as string[];
  const { input, key } = readCredentialInput({ label: 'test', subject: 'tester', ...more, scopes }, scopes);
  const { id } = await createCredential(db, input);
  return { id, key: key ?? '' };
}
