import type { JsonObject } from '../../src/json.js';
import { type Call, callsWith, making } from '../support/callers.js';
import { declare } from '../support/collections.js';
import { makeKey } from '../support/credentials.js';
import { testService, UNDECLARED } from '../support/service.js';
import type { Constants } from '../support/settings.js';
import type { Test } from '../support/test.js';
import { TEAM_TRACKER } from './team-tracker.js';

/** A service with the issue tracker and `more` collections, an operator, and users with keys of the scope `self`. */
export async function openTracker(
  t: Test,
  more: Readonly<Record<string, JsonObject>> = {},
  constants: Constants = {},
) {
  const env = {
    COLLECTIONS: declare(t, { ...TEAM_TRACKER, ...more }),
    AUTH: 'api-key',
    DATABASE_URL: UNDECLARED,
  };
  const service = await testService(t, env, constants);
  const { key: admin } = await makeKey(service.db);
  const as = (key: string | undefined): Call =>
    callsWith(service, key === undefined ? {} : { 'X-API-Key': key });
  const operator = as(admin);
  const made = making(t, operator);
  const user = async (name: string) => {
    const id = await made('/users', { name, email: `${name}@example.com` });
    const { key } = await makeKey(service.db, { subject: id, scopes: ['self', 'events:read'] });
    return { id, key, call: as(key) };
  };
  return { service, operator, made, user, as, stranger: as(undefined) };
}
