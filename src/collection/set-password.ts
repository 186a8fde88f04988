import type { JsonObject } from '../json.js';
import type { Collection } from './collection.js';
import { isStored } from './record.js';

const ATTEMPTS = 8;

/** Sets the password of a user, with the rules of requests. False: there is no such user. Throws 400. */
export async function setPassword(users: Collection, id: string, password: string): Promise<boolean> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const current = await users.get(id);
    if (typeof current === 'string') return false;
    const record = JSON.parse(current.doc) as JsonObject;
    const draft = users.check({ ...record, password }, 'request', { record, isPatch: true });
    const preconditions = { versions: [current.version], notVersions: null, unmodifiedSince: null };
    const outcome = await users.replace(id, draft, preconditions);
    if (isStored(outcome)) return true;
    if (typeof outcome === 'string') return false;
  }
  throw new Error('the record changes too often');
}
