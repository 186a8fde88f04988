import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Resource } from '../collection/resource.js';
import { pathIn } from '../config/parsers.js';
import { RefusedError } from '../errors/exit-error.js';
import { textOf } from '../formats/text-encoding.js';
import { isObject, type Json } from '../json.js';
import { builtInFiles } from './built-in.js';
import type { Declaration, DeclarationFault, DeclaredField, DeclaredSchema, SqlFile } from './declaration.js';
import { withFieldKeywords } from './field-keywords.js';
import { SchemaFiles } from './schema-files.js';

/** Invalid declarations: one line for each fault, with file, JSON Pointer and reason. */
export class DeclarationError extends RefusedError {
  constructor(readonly faults: readonly DeclarationFault[]) {
    super(
      faults.map(({ file, pointer, reason }) => `${file}${pointer && `#${pointer}`}: ${reason}`).join('\n'),
    );
  }
}

/** The declarations of a folder. */
export interface Declarations {
  readonly collections: readonly Declaration[];
  /** Schemas for `$ref`, in files whose names begin with an underscore: file name -> schema. */
  readonly shared: ReadonlyMap<string, DeclaredSchema>;
  /** SQL files that change stored records; absent: none. */
  readonly sqlFiles?: readonly SqlFile[];
  /** The first segments of the service's own paths, which are no names of collections; absent: the names are not checked. */
  readonly ownPaths?: ReadonlySet<string>;
  /** The rules for the passwords of users; absent: the declarations only describe. */
  readonly passwordRules?: Resource['passwordRules'];
  /** The faults of files that could not be read; absent: there are none. */
  readonly faults?: readonly DeclarationFault[];
}

/** Files in a folder, and bytes of one file. */
const MAX_FILES = 1000;
const MAX_BYTES = 1_048_576;

/** Declares the collection that people sign in with. It exists in any case. */
export const SIGN_IN_FILE = 'users.json';
/** The write-only fields of that collection, whose values are stored apart from its records. */
export const CREDENTIALS: readonly string[] = ['password', 'current_password', 'password_hash'];

/**
 * Reads the declarations in a folder, without checking them. Without a folder: the ones that come with the service. A file
 * for one of these adds to it. A relative folder is in `base`; empty: in the current one. Throws DeclarationError with every
 * file that is not a JSON object.
 */
export function readDeclarations(folder: string | undefined, base = ''): Declarations {
  const { faults, ...declarations } = readFolder(folder, base);
  if (faults.length > 0) throw new DeclarationError(faults);
  return declarations;
}

/** Reads as much as can be read of the declarations in a folder. `changed`: texts in place of those of its files. */
export function readFolder(
  folder: string | undefined,
  base = '',
  changed: ReadonlyMap<string, string> = new Map(),
): Required<Pick<Declarations, 'faults'>> & Declarations {
  const builtIn = builtInFiles();
  const faults: DeclarationFault[] = [];
  const stored = folder === undefined ? builtIn : filesIn(folder, base, '.json', faults);
  const texts = new Map([...stored, ...changed]);
  const collections: Declaration[] = [];
  const shared = new Map<string, DeclaredSchema>();
  for (const name of new Set([SIGN_IN_FILE, ...texts.keys()])) {
    const file = folder !== undefined && texts.has(name) ? join(folder, name) : name;
    const text = texts.has(name) ? texts.get(name) : '{}';
    // Other files may refer to one that cannot be read.
    const schema = (text === undefined ? undefined : parsedFile(text, file, faults)) ?? UNREADABLE;
    const own = builtIn.get(name);
    if (name.startsWith('_')) shared.set(name, schema);
    else
      collections.push({
        name: name.slice(0, -'.json'.length),
        file,
        schema: own === undefined ? schema : merge(parsedFile(own, name, faults)!, schema),
      });
  }
  const files = new SchemaFiles(collections, shared);
  const complete = collections.map((declaration) => {
    const root = files.root(`${declaration.name}.json`);
    const nodes = files.referredFrom(root).map(({ schema }) => schema);
    const referred = nodes.filter((schema) => schema !== root.schema);
    return {
      ...declaration,
      schema: withFieldKeywords(root, files, faults),
      ...(referred.length === 0 ? {} : { referred }),
    };
  });
  return { collections: complete, shared, faults };
}

const UNREADABLE: DeclaredSchema = { type: 'object', properties: {} };

/** The texts of the files in a folder, in the order of their names; undefined: one cannot be read. Throws DeclarationError. */
function filesIn(
  folder: string,
  base: string,
  extension: '.json' | '.sql',
  faults: DeclarationFault[],
): ReadonlyMap<string, string | undefined> {
  const path = pathIn(base, folder);
  const entries = readdirSync(path, { withFileTypes: true })
    .filter((entry) => !entry.isDirectory() && entry.name.endsWith(extension) && !entry.name.startsWith('.'))
    .map(({ name }) => name)
    .sort();
  if (entries.length > MAX_FILES)
    throw new DeclarationError([
      { file: folder, pointer: '', reason: `has more than ${MAX_FILES} ${extension} files` },
    ]);
  return new Map(
    entries.map((name) => {
      const fault = (reason: string) => faults.push({ file: join(folder, name), pointer: '', reason });
      try {
        const bytes = readFileSync(join(path, name));
        if (bytes.length <= MAX_BYTES) return [name, textOf(bytes)];
        fault(`has more than ${MAX_BYTES} bytes`);
      } catch (error) {
        // Another encoding, or an error of the file system.
        const { message } = error as Error;
        fault(error instanceof TypeError ? message : `cannot be read: ${message}`);
      }
      return [name, undefined];
    }),
  );
}

/** Reads the SQL files in a folder, in the order of their names. A relative folder is in `base`. Throws DeclarationError. */
export function readSqlFiles(folder: string, base = ''): SqlFile[] {
  const faults: DeclarationFault[] = [];
  const texts = filesIn(folder, base, '.sql', faults);
  if (faults.length > 0) throw new DeclarationError(faults);
  return [...texts].map(([name, text = '']) => ({
    name,
    text,
    checksum: createHash('sha256').update(text).digest('hex'),
  }));
}

/** The object in the text of a file, without its `$schema`, or a fault. */
export function parsedFile(
  text: string,
  file: string,
  faults: DeclarationFault[],
): DeclaredSchema | undefined {
  const fault = (reason: string) => void faults.push({ file, pointer: '', reason });
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (error) {
    return fault(text.trim() === '' ? 'is empty' : `is not JSON: ${(error as Error).message}`);
  }
  if (!isObject(value)) return fault('must be a JSON object');
  for (const name of repeatedNames(text))
    fault(`an object has the member ${name} twice: the first one would have no effect`);
  // `$schema` is for editors, and may name the schema of declarations by its path.
  const { $schema: _, ...schema } = value;
  return schema as unknown as DeclaredSchema;
}

/** A declaration of the service, with an operator's additions: each field has the keywords of both. */
function merge(base: DeclaredSchema, added: DeclaredSchema): DeclaredSchema {
  const fields = Object.entries({ ...base.properties, ...added.properties }).map(([name, field]) => {
    const own = Object.hasOwn(base.properties, name) ? base.properties[name] : undefined;
    return [name, own && isObject(field as Json) ? { ...own, ...field } : field] as const;
  });
  return {
    ...base,
    ...added,
    required: [...new Set([...(base.required ?? []), ...(added.required ?? [])])],
    properties: Object.fromEntries<DeclaredField>(fields),
    'x-collection': { ...base['x-collection'], ...added['x-collection'] },
  };
}

/** The names that an object of a valid JSON text has twice, as JSON texts. A parser would ignore the first one of each. */
function repeatedNames(text: string): ReadonlySet<string> {
  const open: Set<string>[] = [];
  const found = new Set<string>();
  for (const [token, given] of text.matchAll(/("(?:[^"\\]|\\.)*"?)\s*:?|[{}]/g))
    if (token === '{') open.push(new Set());
    else if (token === '}') open.pop();
    else if (token.endsWith(':')) {
      const name = JSON.stringify(JSON.parse(given!));
      const names = open.at(-1)!;
      if (names.has(name)) found.add(name);
      names.add(name);
    }
  return found;
}
