import type { JsonObject } from '../../src/json.js';
import { declare } from '../support/collections.js';
import { makeKey } from '../support/credentials.js';
import { testService, undeclaredDatabase } from '../support/service.js';
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
    DATABASE_URL: await undeclaredDatabase(t),
  };
  const service = await testService(t, env, constants);
  const { key: admin } = await makeKey(service.db);
  type Call = (
    method: string,
    path: string,
    json?: unknown,
    headers?: Record<string, string>,
  ) => ReturnType<typeof service.send>;
  const as =
    (key: string | undefined): Call =>
    (method, path, json, headers = {}) =>
      service.send(method, path, {
        ...(json === undefined ? {} : { body: json }),
        headers: { ...(key === undefined ? {} : { 'X-API-Key': key }), ...headers },
      } as never);
  const operator = as(admin);
  const made = async (path: string, json: JsonObject, by = operator): Promise<string> => {
    const reply = await by('POST', path, json);
    t.equal(reply.status, 201, `${path} ${JSON.stringify(json)}: ${reply.text}`);
    return reply.json.id;
  };
  const user = async (name: string) => {
    const id = await made('/users', { name, email: `${name}@example.com` });
    const { key } = await makeKey(service.db, { subject: id, scopes: ['self', 'events:read'] });
    return { id, key, call: as(key) };
  };
  return { service, operator, made, user, as, stranger: as(undefined) };
}
