import type { JsonObject } from '../../src/json.js';
import { declare } from '../support/collections.js';
import { makeKey } from '../support/credentials.js';
import { type ServiceResponse, testService, undeclaredDatabase } from '../support/service.js';
import type { Test } from '../support/test.js';

/** A request of one caller; a body goes as JSON, unless `headers` say otherwise. */
export type Call = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
) => Promise<ServiceResponse>;

/** A service with these declarations, whose callers have API keys. `made` creates a record as an administrator, and has its id. */
export async function openForCallers(t: Test, declarations: Readonly<Record<string, JsonObject>>) {
  const service = await testService(t, {
    AUTH: 'api-key',
    MCP: 'on',
    COLLECTIONS: declare(t, declarations),
    DATABASE_URL: await undeclaredDatabase(t),
  });
  const as = async (subject: string, ...scopes: string[]): Promise<Call> => {
    const { key } = await makeKey(service.db, { subject, scopes });
    return (method, path, body, headers = {}) =>
      service.send(method, path, {
        ...(body !== undefined && { body }),
        headers: { 'x-api-key': key, ...headers },
      });
  };
  const admin = await as('root', 'admin');
  const made = async (path: string, body: JsonObject): Promise<string> => {
    const { status, json, text } = await admin('POST', path, body);
    t.equal(status, 201, text);
    return json.id;
  };
  return { service, as, admin, made };
}
