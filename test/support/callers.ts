import type { JsonObject } from '../../src/json.js';
import { declare } from './collections.js';
import { makeKey } from './credentials.js';
import { type ServiceResponse, type TestService, testService, UNDECLARED } from './service.js';
import type { Test } from './test.js';

/** A request of one caller; a body goes as JSON, unless `headers` say otherwise. */
export type Call = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
) => Promise<ServiceResponse>;

/** A service with these declarations alone. */
export const declaredService = (
  t: Test,
  declarations: Readonly<Record<string, unknown>>,
  env: Readonly<Record<string, string>> = {},
): Promise<TestService> =>
  testService(t, { COLLECTIONS: declare(t, declarations), DATABASE_URL: UNDECLARED, ...env });

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

/** Creates a record as some caller, and has its id. */
export const making =
  (t: Pick<Test, 'equal'>, admin: Call) =>
  async (path: string, body: JsonObject, by: Call = admin): Promise<string> => {
    const { status, json, text } = await by('POST', path, body);
    t.equal(status, 201, `${path} ${JSON.stringify(body)}: ${text}`);
    return json.id;
  };

/** A service with these declarations, whose callers have API keys. `made` creates records, by default as an administrator. */
export async function openForCallers(
  t: Test,
  declarations: Readonly<Record<string, JsonObject>>,
  env: Readonly<Record<string, string>> = {},
) {
  const service = await declaredService(t, declarations, { AUTH: 'api-key', MCP: 'on', ...env });
  const as = callersOf(service);
  const admin = await as('root', 'admin');
  return { service, as, admin, made: making(t, admin) };
}

/** The body of a request of an agent. */
export const rpc = (method: string, params: JsonObject = {}): JsonObject => ({
  ...{ jsonrpc: '2.0', id: 1 },
  method,
  params,
});

/** A request of an agent. */
export const ask = (call: Call, method: string, params?: JsonObject): Promise<ServiceResponse> =>
  call('POST', '/mcp', rpc(method, params), { accept: 'application/json, text/event-stream' });

/** A call of a tool. */
export const callTool = (call: Call, name: string, args: JsonObject): Promise<ServiceResponse> =>
  ask(call, 'tools/call', { name, arguments: args });

/** The values of one field of records. */
export const valuesOf = (records: readonly object[], field: string): unknown[] =>
  records.map((record) => (record as JsonObject)[field]);
