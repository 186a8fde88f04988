import { readFileSync, statSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { type Principal, STRANGER, scopesOf } from '../auth/principal.js';
import { userScopes } from '../auth/user-scopes.js';
import { schemaText } from '../declarations/built-in.js';
import { faultsOf } from '../declarations/validation-faults.js';
import { textOf } from '../formats/text-encoding.js';
import { escapeToken, type Json, type JsonObject } from '../json.js';
import { nextIdentity, parseUuid } from '../uuid.js';
import { InputError } from './exit.js';
import { fileOf, type Io } from './io.js';

const MAX_BYTES = 1_048_576;
const MAX_RECORDS = 1000;
/** The name of a record in a text, which stands for its id. */
const NAMED = /\{([A-Za-z][\w-]{0,63})\}/g;

/** The outcome of a request, as far as a case says something about it. */
export interface Outcome {
  readonly status: number;
  readonly code?: string;
  /** The records in the response, by their names or ids, in any order. */
  readonly ids?: readonly string[];
  /** The fields in the response, besides those that each record has. */
  readonly fields?: readonly string[];
  /** The fields that the caller may not set. */
  readonly denied?: readonly string[];
}

/** The content of a file of cases. */
export type AccessCases = ReturnType<typeof readCases>;
/** A record that exists before each case. */
export type GivenRecord = AccessCases['records'][number];
/** A request of a caller, and its outcome. */
export type AccessCase = AccessCases['cases'][number];

type GivenCaller = Partial<Record<'user' | 'subject' | 'scopes', string>> & { readonly claims?: JsonObject };

/** A file of cases as schema/access-test.schema.json describes it. */
interface GivenFile {
  readonly records?: Readonly<Record<string, Readonly<Record<string, JsonObject>>>>;
  readonly callers?: Readonly<Record<string, GivenCaller>>;
  readonly cases: readonly {
    readonly name?: string;
    readonly as: string | GivenCaller;
    readonly request: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: Json;
    readonly expect: number | Outcome;
  }[];
}

/**
 * Reads a file of cases, with the ids of records by their names. Throws InputError with each fault. `collections`: the names of
 * those that there are.
 */
export function readCases(io: Io, file: string, collections: readonly string[]) {
  const faults: string[] = [];
  const fault = (pointer: string, reason: string) => void faults.push(`${file}#${pointer}: ${reason}`);
  const text = contentOf(io, file);
  const given = parsedFile(text, file);
  const ids = new Map<string, string>();
  const places = Object.entries(given.records ?? {}).flatMap(([collection, named]) => {
    const place = `/records/${escapeToken(collection)}`;
    if (!collections.includes(collection))
      fault(place, `there is no collection ${collection}: there are ${collections.join(', ')}`);
    return Object.entries(named).map(([name, { id = nextIdentity().id }]) => {
      const pointer = `${place}/${escapeToken(name)}`;
      if (!/^[A-Za-z][\w-]{0,63}$/.test(name))
        fault(pointer, 'its name must begin with a letter, and have letters, digits, _ and - alone');
      if (ids.has(name)) fault(pointer, 'another record has its name');
      const own = parseUuid(String(id));
      if (own === undefined) fault(`${pointer}/id`, 'must be a UUID');
      ids.set(name, own ?? '');
      return { pointer, collection, name, id: own ?? '' };
    });
  });
  if (places.length > MAX_RECORDS) fault('/records', `has more than ${MAX_RECORDS} records`);
  // Only texts of the file have a name in braces: a brace of JSON precedes a quote or another brace.
  const resolved = JSON.parse(text.replace(NAMED, (all, name: string) => ids.get(name) ?? all)) as GivenFile;
  const before = new Set<string>();
  const records = places.map(({ pointer, collection, name, id }) => {
    before.add(name);
    for (const [, each = ''] of JSON.stringify(given.records![collection]![name]).matchAll(NAMED))
      if (ids.has(each) && !before.has(each)) fault(pointer, `names ${each}, which must come before it`);
    const { id: _, ...body } = resolved.records?.[collection]?.[name] ?? {};
    return { pointer, collection, id, body };
  });
  const cases = resolved.cases.map((each, at) => {
    const { as, name, request } = given.cases[at]!;
    const [pointer, who] = [`/cases/${at}`, typeof as === 'string' ? as : JSON.stringify(as)];
    const principal = principalOf(each.as, resolved, ids);
    if (typeof principal === 'string') fault(`${pointer}/as`, principal);
    const [method, path] = each.request.split(' ') as [string, string];
    const [, missing] = /\{([^{}]*)\}/.exec(path) ?? [];
    if (missing !== undefined) fault(`${pointer}/request`, `there is no record ${missing}`);
    const headers = Object.entries(each.headers ?? {}).map(([field, value]) => [field.toLowerCase(), value]);
    return {
      pointer,
      /** The words for a reader: name, caller and request. */
      title: `${name ? `${name} ` : ''}(${who}: ${request})`,
      principal: typeof principal === 'string' ? STRANGER : principal,
      operation: { method, path, headers: Object.fromEntries(headers), body: each.body },
      expected: (typeof each.expect === 'number' ? { status: each.expect } : each.expect) as Outcome,
    };
  });
  if (faults.length > 0) throw new InputError(faults.join('\n'));
  return { records, cases, ids };
}

function contentOf(io: Io, file: string): string {
  try {
    const path = fileOf(io, file);
    if (statSync(path).size <= MAX_BYTES) return textOf(readFileSync(path));
  } catch (error) {
    throw new InputError(`${file} cannot be read: ${(error as Error).message}`);
  }
  throw new InputError(`${file} has more than ${MAX_BYTES} bytes`);
}

/** The content of a file of cases. Throws InputError with each fault of its form. */
function parsedFile(text: string, file: string): GivenFile {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (error) {
    throw new InputError(`${file} is not JSON: ${(error as Error).message}`);
  }
  const validate = new Ajv2020({ allErrors: true, strict: false }).compile(
    JSON.parse(schemaText('access-test')),
  );
  if (validate(value)) return value as unknown as GivenFile;
  const faults = faultsOf(file, validate.errors ?? []);
  throw new InputError(faults.map(({ pointer, reason }) => `${file}#${pointer}: ${reason}`).join('\n'));
}

/** The caller that a case names; a text: the reason for which there is none. */
function principalOf(
  as: string | GivenCaller,
  { callers = {} }: GivenFile,
  ids: ReadonlyMap<string, string>,
) {
  if (as === 'anonymous') return STRANGER;
  const named = typeof as === 'string' ? (Object.hasOwn(callers, as) ? callers[as]! : { user: as }) : as;
  const { user, subject, scopes, claims }: GivenCaller = named;
  if ((user === undefined) === (subject === undefined)) return 'needs either user or subject';
  const id = user === undefined ? subject! : ids.get(user);
  if (id === undefined) return `there is no caller and no record ${user}`;
  const principal: Principal = {
    subject: id,
    scopes: scopes !== undefined ? scopesOf(scopes) : user === undefined ? new Set() : userScopes(''),
    scheme: claims ? 'bearer' : 'session',
    claims,
    expiresAt: undefined,
  };
  return principal;
}
