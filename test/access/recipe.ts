import type { JsonObject } from '../../src/json.js';
import { type Call, callsWith, declaredService, making } from '../support/callers.js';
import { makeKey } from '../support/credentials.js';
import { whenEventsAreFinal } from '../support/final-events.js';
import { declarationsUnder } from '../support/page-commands.js';
import type { ServiceResponse } from '../support/service.js';
import type { Test } from '../support/test.js';

const PAGE = 'docs/recipes.md';

/** A caller, with the id of its user or another subject. */
export interface Caller {
  readonly id: string;
  readonly call: Call;
}

/** The id that a name stands for, or a function that creates a record for each request. */
export type Names = Readonly<Record<string, string | ((caller: Caller) => string | Promise<string>)>>;

/**
 * A request, and its result for each caller in the order of the callers. A number from 100 on is the status, a smaller one the
 * number of records of a list, or of those in events. `:name` in a request is an id. A DELETE that responds with 204 and deletes
 * nothing is 404.
 */
export type Row = readonly [request: string, ...results: number[]];

/** A service with the declarations of one recipe, exactly as the page prints them, and those of users. */
export async function openRecipe(t: Test, heading: string, env: Record<string, string> = {}) {
  const files = declarationsUnder(PAGE, heading);
  t.ok(Object.keys(files).length > 0, `the page has declarations under ${heading}`);
  const all = { ...declarationsUnder(PAGE, 'Begin'), ...files };
  const service = await declaredService(t, all, { AUTH: 'api-key', ...env });
  const as =
    (headers: Record<string, string>): Call =>
    async (method, path, ...more) => {
      if (path.startsWith('/events?')) await whenEventsAreFinal(service);
      return callsWith(service, headers)(method, path, ...more);
    };
  const keyed = async (subject: string, scopes: readonly string[]): Promise<Caller> => {
    const { key } = await makeKey(service.db, { subject, scopes: [...scopes] });
    return { id: subject, call: as({ 'X-API-Key': key }) };
  };
  const stranger: Caller = { id: '', call: as({}) };
  const admin = await keyed('operator', ['admin']);
  const made = (path: string, body: JsonObject, { call } = admin) => making(t, call)(path, body);
  let users = 0;
  const newUser = () => made('/users', { name: 'User', email: `user${++users}@example.org` });
  const user = async (...scopes: string[]) => keyed(await newUser(), ['self', ...scopes]);
  return { as, keyed, stranger, admin, made, newUser, user };
}

/** Sends each request as each caller, and compares the results. `witness` reads all records. */
export async function checkTable(
  t: Test,
  callers: Readonly<Record<string, Caller>>,
  names: Names,
  rows: readonly Row[],
  witness: Caller,
): Promise<void> {
  for (const [request, ...expected] of rows) {
    const results: number[] = [];
    for (const caller of Object.values(callers))
      results.push(await resultOf(request, caller, names, witness));
    const label = (numbers: readonly number[]) =>
      Object.keys(callers).map((name, at) => `${name} ${numbers[at]}`);
    t.same(label(results), label(expected), request);
  }
}

async function resultOf(request: string, caller: Caller, names: Names, witness: Caller): Promise<number> {
  let text = request;
  for (const [whole, name] of request.matchAll(/(?<=[/"]):(\w+)(?=[/"\s]|$)/g)) {
    const found = names[name!];
    if (found === undefined) throw new Error(`${request}: what is ${whole}?`);
    text = text.replace(whole, typeof found === 'string' ? found : await found(caller));
  }
  const [, method, path, body] = /^(\w+) (\S+)(?: (\{.*\}))?$/.exec(text)!;
  if (method === 'EVENTS') return eventsOf(await caller.call('GET', `/events?types=${path}.*&limit=1000`));
  const { status, json } = await caller.call(method!, path!, body && JSON.parse(body));
  if (method === 'DELETE' && status === 204)
    return (await witness.call('GET', path!)).status === 200 ? 404 : 204;
  return status === 200 && Array.isArray(json?.data) ? json.data.length : status;
}

/** The number of records of which events show something. */
const eventsOf = ({ status, json }: ServiceResponse): number =>
  status === 200
    ? new Set((json.data as { data: unknown; subject: string }[]).map(({ subject }) => subject)).size
    : status;
