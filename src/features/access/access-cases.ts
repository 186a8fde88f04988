import { type Principal, STRANGER, scopesOf } from '../../auth/principal.js';
import { userScopes } from '../../auth/user-scopes.js';
import { InputError, type Io, inputText } from '../../cli/io.js';
import { formFaults } from '../../declarations/check-declarations.js';
import type { DeclarationFault } from '../../declarations/declaration.js';
import { parsedFile } from '../../declarations/read-declarations.js';
import { escapeToken, type Json, type JsonObject } from '../../json.js';
import { nextIdentity } from '../../uuid.js';

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

/** A request of a caller, and its outcome. */
export type AccessCase = ReturnType<typeof readCases>['cases'][number];

type GivenCaller = Partial<Record<'user' | 'subject' | 'scopes', string>> & { readonly claims?: JsonObject };
type Named<T> = Readonly<Record<string, T>>;

/** A file of cases as schema/access-test.schema.json describes it. */
interface GivenFile {
  readonly records?: Named<Named<JsonObject & { readonly id?: string }>>;
  readonly callers?: Named<GivenCaller>;
  readonly cases: readonly {
    readonly name?: string;
    readonly as: string | GivenCaller;
    readonly request: string;
    readonly headers?: Named<string>;
    readonly body?: Json;
    readonly expect: number | Outcome;
  }[];
}

/** Reads a file of cases, with the ids of records by their names. Throws InputError. */
export function readCases(io: Io, file: string) {
  const { records = {}, callers = {}, cases } = contentOf(inputText(io, file), file);
  const ids = new Map<string, string>();
  // Only texts of the file have a name in braces: a brace of JSON precedes a quote or another brace.
  const resolved = <T>(value: T): T =>
    JSON.parse(JSON.stringify(value).replace(NAMED, (all, name: string) => ids.get(name) ?? all));
  return {
    ids,
    records: Object.entries(records).flatMap(([collection, named]) =>
      Object.entries(named).map(([name, { id = nextIdentity().id, ...body }]) => {
        const pointer = `/records/${escapeToken(collection)}/${name}`;
        if (ids.has(name)) throw new InputError(`${file}#${pointer}: another record has its name`);
        ids.set(name, id);
        return { pointer, collection, id, body: resolved(body) };
      }),
    ),
    cases: cases.map(({ name = '', as, request, expect, ...rest }, at) => {
      const pointer = `/cases/${at}`;
      const [method, path] = resolved(request).split(' ') as [string, string];
      const { headers = {}, body } = resolved(rest);
      const caller = typeof as === 'string' && Object.hasOwn(callers, as) ? callers[as]! : as;
      const [, missing] = /\{([^{}]*)\}/.exec(path) ?? [];
      if (missing !== undefined)
        throw new InputError(`${file}#${pointer}/request: there is no record ${missing}`);
      const fields = Object.entries(headers).map(([field, value]) => [field.toLowerCase(), value]);
      const expected: Outcome = typeof expect === 'number' ? { status: expect } : resolved(expect);
      return {
        ...{ pointer, expected },
        /** The words for a reader: name, caller and request. */
        title: `${name} (${typeof as === 'string' ? as : JSON.stringify(as)}: ${request})`.trim(),
        principal: principalOf(resolved(caller), ids, `${file}#${pointer}/as`),
        operation: { method, path, headers: Object.fromEntries(fields), body },
      };
    }),
  };
}

/** The content of a file of cases. Throws InputError with each fault of its form. */
function contentOf(text: string, file: string): GivenFile {
  const faults: DeclarationFault[] = [];
  const content = parsedFile(text, file, faults);
  if (content) faults.push(...formFaults(file, content, 'access-test'));
  if (faults.length === 0) return content as unknown as GivenFile;
  throw new InputError(faults.map(({ pointer, reason }) => `${file}#${pointer}: ${reason}`).join('\n'));
}

/** A caller, or the user that a text names, at a place of a file. Throws InputError. */
function principalOf(given: string | GivenCaller, ids: ReadonlyMap<string, string>, at: string): Principal {
  if (given === 'anonymous') return STRANGER;
  const { user, subject, scopes, claims }: GivenCaller = typeof given === 'string' ? { user: given } : given;
  if ((user === undefined) === (subject === undefined))
    throw new InputError(`${at}: needs either user or subject`);
  const id = subject ?? ids.get(user!);
  if (id === undefined) throw new InputError(`${at}: there is no caller and no record ${user}`);
  return {
    subject: id,
    scopes: scopes !== undefined ? scopesOf(scopes) : user === undefined ? new Set() : userScopes(''),
    scheme: claims ? 'bearer' : 'session',
    claims,
    expiresAt: undefined,
  };
}
