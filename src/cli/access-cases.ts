import type { Operation } from '../actions/batch-operations.js';
import { type Principal, STRANGER, scopesOf } from '../auth/principal.js';
import { userScopes } from '../auth/user-scopes.js';
import { escapeToken, isObject, type Json, type JsonObject, member } from '../json.js';
import { nextIdentity, parseUuid } from '../uuid.js';
import { type ExpectedOutcome, type GivenCaller, type GivenFile, parsedFile } from './access-case-form.js';
import { InputError } from './exit.js';

/** The most records of a file. */
const MAX_RECORDS = 1000;

/** A record that exists before each case. */
export interface GivenRecord {
  readonly pointer: string;
  readonly collection: string;
  readonly id: string;
  readonly body: JsonObject;
}

/** A request of a caller, and its outcome. */
export interface AccessCase {
  readonly pointer: string;
  /** The words for a reader: name, caller and request. */
  readonly title: string;
  readonly principal: Principal;
  readonly operation: Operation;
  readonly expected: ExpectedOutcome;
}

/** The content of a file of cases. */
export interface AccessCases {
  readonly records: readonly GivenRecord[];
  readonly cases: readonly AccessCase[];
  /** The names of records, by their ids. */
  readonly names: ReadonlyMap<string, string>;
}

/** Reads a file of cases. Throws InputError with each fault. `collections`: the names of those that there are. */
export function readCases(text: string, file: string, collections: readonly string[]): AccessCases {
  const faults: string[] = [];
  const fault = (pointer: string, reason: string) => void faults.push(`${file}#${pointer}: ${reason}`);
  const given = parsedFile(text, file);
  const records = recordsOf(given.records ?? {}, collections, fault);
  const ids = new Map(records.map(({ name, id }) => [name, id]));
  const cases = given.cases.map((each, at): AccessCase => {
    const pointer = `/cases/${at}`;
    const caller = isText(each.as)
      ? (member((given.callers ?? {}) as JsonObject, each.as) as GivenCaller | undefined)
      : each.as;
    const principal =
      each.as === 'anonymous' ? STRANGER : principalOf(caller ?? { user: String(each.as) }, ids);
    if (isText(principal)) fault(`${pointer}/as`, principal);
    const [method, template] = each.request.split(' ') as [string, string];
    const path = template.replace(/\{([^{}]*)\}/g, (_, name: string) => {
      if (!ids.has(name)) fault(`${pointer}/request`, `there is no record ${name}`);
      return ids.get(name) ?? '';
    });
    const headers = Object.entries(each.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]);
    const who = isText(each.as) ? each.as : JSON.stringify(each.as);
    return {
      pointer,
      title: `${each.name ? `${each.name} ` : ''}(${who}: ${each.request})`,
      principal: isText(principal) ? STRANGER : principal,
      operation: { method, path, headers: Object.fromEntries(headers), body: withIds(each.body, ids) },
      expected: typeof each.expect === 'number' ? { status: each.expect } : each.expect,
    };
  });
  if (faults.length > 0) throw new InputError(faults.join('\n'));
  return {
    records: inOrder(
      records.map((each) => ({ ...each, body: withIds(each.body, ids) as JsonObject })),
      file,
    ),
    cases,
    names: new Map(records.map(({ name, id }) => [id, name])),
  };
}

const isText = (value: unknown): value is string => typeof value === 'string';

function recordsOf(
  given: NonNullable<GivenFile['records']>,
  collections: readonly string[],
  fault: (pointer: string, reason: string) => void,
): (GivenRecord & { readonly name: string })[] {
  const seen = new Set<string>();
  const records = Object.entries(given).flatMap(([collection, named]) => {
    const place = `/records/${escapeToken(collection)}`;
    if (!collections.includes(collection))
      fault(place, `there is no collection ${collection}: there are ${collections.join(', ')}`);
    return Object.entries(named).map(([name, { id, ...body }]) => {
      const pointer = `${place}/${escapeToken(name)}`;
      if (!/^[A-Za-z][\w-]{0,63}$/.test(name))
        fault(pointer, 'its name must begin with a letter, and have letters, digits, _ and - alone');
      if (seen.has(name)) fault(pointer, 'another record has its name');
      seen.add(name);
      const own = id === undefined ? nextIdentity().id : parseUuid(String(id));
      if (own === undefined) fault(`${pointer}/id`, 'must be a UUID');
      return { pointer, collection, name, id: own ?? '', body };
    });
  });
  if (records.length > MAX_RECORDS) fault('/records', `has more than ${MAX_RECORDS} records`);
  return records;
}

/** The caller that a case names; a text: the reason for which there is none. */
function principalOf(caller: GivenCaller, ids: ReadonlyMap<string, string>): Principal | string {
  const { user, subject, scopes, claims } = caller;
  if ((user === undefined) === (subject === undefined)) return 'needs either user or subject';
  const id = user === undefined ? subject! : ids.get(user);
  if (id === undefined) return `there is no caller and no record ${user}`;
  return {
    subject: id,
    scopes: scopes !== undefined ? scopesOf(scopes) : user === undefined ? new Set() : userScopes(''),
    scheme: claims ? 'bearer' : 'session',
    claims: claims && (withIds(claims, ids) as JsonObject),
    expiresAt: undefined,
  };
}

/** A value in which ids take the places of `{name}`. */
function withIds<T extends Json | undefined>(value: T, ids: ReadonlyMap<string, string>): Json | T {
  if (isText(value)) return ids.get(/^\{(.+)\}$/.exec(value)?.[1] ?? '') ?? value;
  if (Array.isArray(value)) return value.map((each) => withIds(each, ids)!);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withIds(each, ids)!]));
}

/** Records, each after those that it names. Throws InputError for records that name each other. */
function inOrder(records: readonly GivenRecord[], file: string): GivenRecord[] {
  const ordered: GivenRecord[] = [];
  const rest = new Map(records.map((each) => [each.id, each]));
  while (rest.size > 0) {
    const ready = [...rest.values()].filter(
      ({ id, body }) => !Object.values(body).some((value) => value !== id && rest.has(String(value))),
    );
    if (ready.length === 0) {
      const [first] = rest.values();
      throw new InputError(`${file}#${first!.pointer}: it and records that it names refer to each other`);
    }
    ordered.push(...ready);
    for (const { id } of ready) rest.delete(id);
  }
  return ordered;
}
