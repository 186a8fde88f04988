import { Ajv2020 } from 'ajv/dist/2020.js';
import { type Principal, STRANGER, scopesOf } from '../auth/principal.js';
import { userScopes } from '../auth/user-scopes.js';
import { schemaText } from '../declarations/built-in.js';
import { faultsOf } from '../declarations/validation-faults.js';
import { escapeToken, type Json, type JsonObject } from '../json.js';
import { nextIdentity, parseUuid } from '../uuid.js';
import { InputError, type Io, inputText } from './io.js';

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

/** Reads a file of cases, with the ids of records by their names. Throws InputError. */
export function readCases(io: Io, file: string) {
  const text = inputText(io, file);
  const given = parsedFile(text, file);
  const ids = new Map<string, string>();
  for (const [collection, named] of Object.entries(given.records ?? {}))
    for (const [name, { id = nextIdentity().id }] of Object.entries(named)) {
      const place = `${file}#/records/${escapeToken(collection)}/${name}`;
      if (ids.has(name)) throw new InputError(`${place}: another record has its name`);
      if (parseUuid(String(id)) === undefined) throw new InputError(`${place}/id: must be a UUID`);
      ids.set(name, String(id));
    }
  // Only texts of the file have a name in braces: a brace of JSON precedes a quote or another brace.
  const resolved = JSON.parse(text.replace(NAMED, (all, name: string) => ids.get(name) ?? all)) as GivenFile;
  return {
    ids,
    records: Object.entries(resolved.records ?? {}).flatMap(([collection, named]) =>
      Object.entries(named).map(([name, { id: _, ...body }]) => {
        const pointer = `/records/${escapeToken(collection)}/${name}`;
        return { pointer, collection, id: ids.get(name)!, body };
      }),
    ),
    cases: resolved.cases.map(({ as, request, headers = {}, body, expect }, at) => {
      const { name = '', as: caller, request: named } = given.cases[at]!;
      const [method, path] = request.split(' ') as [string, string];
      const [, missing] = /\{([^{}]*)\}/.exec(path) ?? [];
      if (missing !== undefined)
        throw new InputError(`${file}#/cases/${at}/request: there is no record ${missing}`);
      const fields = Object.entries(headers).map(([field, value]) => [field.toLowerCase(), value]);
      return {
        pointer: `/cases/${at}`,
        /** The words for a reader: name, caller and request. */
        title: `${name} (${typeof caller === 'string' ? caller : JSON.stringify(caller)}: ${named})`.trim(),
        principal: principalOf(as, resolved, ids, `${file}#/cases/${at}/as`),
        operation: { method, path, headers: Object.fromEntries(fields), body },
        expected: typeof expect === 'number' ? { status: expect } : expect,
      };
    }),
  };
}

/** The content of a file of cases. Throws InputError with each fault of its form. */
function parsedFile(text: string, file: string): GivenFile {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (error) {
    throw new InputError(`${file} is not JSON: ${(error as Error).message}`);
  }
  const ajv = new Ajv2020({ allErrors: true, strict: false });
  if (ajv.validate(JSON.parse(schemaText('access-test')), value)) return value as unknown as GivenFile;
  const faults = faultsOf(file, ajv.errors ?? []);
  throw new InputError(faults.map(({ pointer, reason }) => `${file}#${pointer}: ${reason}`).join('\n'));
}

/** The caller that a case names at a place in its file. Throws InputError. */
function principalOf(
  as: string | GivenCaller,
  { callers = {} }: GivenFile,
  ids: ReadonlyMap<string, string>,
  place: string,
): Principal {
  if (as === 'anonymous') return STRANGER;
  const named = typeof as === 'string' ? (Object.hasOwn(callers, as) ? callers[as]! : { user: as }) : as;
  const { user, subject, scopes, claims }: GivenCaller = named;
  if ((user === undefined) === (subject === undefined))
    throw new InputError(`${place}: needs either user or subject`);
  const id = subject ?? ids.get(user!);
  if (id === undefined) throw new InputError(`${place}: there is no caller and no record ${user}`);
  return {
    subject: id,
    scopes: scopes !== undefined ? scopesOf(scopes) : user === undefined ? new Set() : userScopes(''),
    scheme: claims ? 'bearer' : 'session',
    claims,
    expiresAt: undefined,
  };
}
