import type { JsonObject } from '../../src/json.js';
import { declare } from './collections.js';
import { makeKey } from './credentials.js';
import { type ServiceResponse, type TestService, testService, undeclaredDatabase } from './service.js';
import type { Test } from './test.js';

/** A request of one caller; a body goes as JSON, unless `headers` say otherwise. */
export type Call = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
) => Promise<ServiceResponse>;

/** A service with these declarations alone, in a database of its own. */
export const declaredService = async (
  t: Test,
  declarations: Readonly<Record<string, unknown>>,
  env: Readonly<Record<string, string>> = {},
): Promise<TestService> =>
  testService(t, {
    COLLECTIONS: declare(t, declarations),
    DATABASE_URL: await undeclaredDatabase(t),
    ...env,
  });

/** A caller that sends the given header fields with each request. */
export const callsWith =
  ({ send }: Pick<TestService, 'send'>, given: Readonly<Record<string, string>> = {}): Call =>
  (method, path, body, headers = {}) =>
    send(method, path, { ...(body !== undefined && { body }), headers: { ...given, ...headers } });

/** Makes callers with an API key each, which without scopes has the scope admin. */
export const callersOf =
  (service: Pick<TestService, 'db' | 'send'>) =>
  async (subject: string, ...scopes: readonly string[]): Promise<Call> => {
    const { key } = await makeKey(service.db, { subject, ...(scopes.length > 0 && { scopes: [...scopes] }) });
    return callsWith(service, { 'x-api-key': key });
  };

/** A service with these declarations, whose callers have API keys. `made` creates a record as an administrator, and has its id. */
export async function openForCallers(t: Test, declarations: Readonly<Record<string, JsonObject>>) {
  const service = await declaredService(t, declarations, { AUTH: 'api-key', MCP: 'on' });
  const as = callersOf(service);
  const admin = await as('root', 'admin');
  const made = async (path: string, body: JsonObject): Promise<string> => {
    const { status, json, text } = await admin('POST', path, body);
    t.equal(status, 201, text);
    return json.id;
  };
  return { service, as, admin, made };
}
