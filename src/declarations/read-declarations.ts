import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathIn } from '../config/parsers.js';
import { ExitError } from '../errors/exit-error.js';
import { textOf } from '../formats/text-encoding.js';
import { escapeToken, isObject, type Json } from '../json.js';
import { builtInFiles } from './built-in.js';
import type { Declaration, DeclarationFault, DeclaredField, DeclaredSchema, SqlFile } from './declaration.js';
import { withFieldKeywords } from './field-keywords.js';
import { schemaFiles } from './schema-files.js';

/** Invalid declarations: one line for each fault, with file, JSON Pointer and reason. */
export class DeclarationError extends ExitError {
  /** EX_CONFIG of sysexits.h. */
  override readonly exitCode = 78;

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
}

/** Files in a folder, and bytes of one file. */
const MAX_FILES = 1000;
const MAX_BYTES = 1_048_576;

/** Declares the collection that people sign in with. It exists in any case. */
export const SIGN_IN_FILE = 'users.json';

/**
 * Reads the declarations in a folder, without checking them. Without a folder: the ones that come with the service. A file
 * for one of these adds to it. A relative folder is in `base`; empty: in the current one. Throws DeclarationError with every
 * file that is not a JSON object.
 */
export function readDeclarations(folder: string | undefined, base = ''): Declarations {
  const { declarations, faults } = readFolder(folder, base);
  if (faults.length > 0) throw new DeclarationError(faults);
  return declarations;
}

/** The readable declarations of a folder, and the faults of the others. */
export interface ReadFolder {
  readonly declarations: Declarations;
  readonly faults: readonly DeclarationFault[];
  /** The names of the collections whose files are no JSON objects. */
  readonly unreadable: readonly string[];
}

/** Reads as much as can be read of the declarations in a folder. `changed`: texts in place of those of its files. */
export function readFolder(
  folder: string | undefined,
  base = '',
  changed: ReadonlyMap<string, string> = new Map(),
): ReadFolder {
  const builtIn = builtInFiles();
  const faults: DeclarationFault[] = [];
  const stored = folder === undefined ? builtIn : filesIn(folder, base, faults);
  const texts = new Map([...stored, ...changed]);
  const names = [...new Set([SIGN_IN_FILE, ...texts.keys()])];
  const collections: Declaration[] = [];
  const shared = new Map<string, DeclaredSchema>();
  const unreadable: string[] = [];
  for (const name of names) {
    const file = folder !== undefined && texts.has(name) ? join(folder, name) : name;
    const text = texts.has(name) ? texts.get(name) : '{}';
    const schema = text === undefined ? undefined : parse(text, file, faults);
    if (schema === undefined) {
      if (!name.startsWith('_')) unreadable.push(name.slice(0, -'.json'.length));
      continue;
    }
    if (name.startsWith('_')) shared.set(name, schema);
    else {
      const base = builtIn.get(name);
      collections.push({
        name: name.slice(0, -'.json'.length),
        file,
        schema: base === undefined ? schema : merge(parse(base, name, faults)!, schema),
      });
    }
  }
  const files = schemaFiles(collections, shared);
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
  return { declarations: { collections: complete, shared }, faults, unreadable };
}

/** The texts of the files in a folder; undefined: one cannot be read. */
function filesIn(
  folder: string,
  base: string,
  faults: DeclarationFault[],
): ReadonlyMap<string, string | undefined> {
  const path = pathIn(base, folder);
  const entries = readdirSync(path, { withFileTypes: true })
    .filter((entry) => !entry.isDirectory() && entry.name.endsWith('.json') && !entry.name.startsWith('.'))
    .map(({ name }) => name)
    .sort();
  if (entries.length > MAX_FILES)
    throw new DeclarationError([
      { file: folder, pointer: '', reason: `has more than ${MAX_FILES} declarations` },
    ]);
  return new Map(
    entries.map((name) => {
      try {
        return [name, textOf(readFileSync(join(path, name)))];
      } catch (error) {
        faults.push({ file: join(folder, name), pointer: '', reason: readFaultOf(error as Error) });
        return [name, undefined];
      }
    }),
  );
}

/** Why a file has no text: another encoding, or an error of the file system. */
export const readFaultOf = (error: Error): string =>
  error instanceof TypeError ? error.message : `cannot be read: ${error.message}`;

function parse(text: string, file: string, faults: DeclarationFault[]): DeclaredSchema | undefined {
  const fault = (reason: string) => void faults.push({ file, pointer: '', reason });
  if (text.length > MAX_BYTES) return fault(`has more than ${MAX_BYTES} bytes`);
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (error) {
    return fault(text.trim() === '' ? 'is empty' : `is not JSON: ${(error as Error).message}`);
  }
  if (!isObject(value)) return fault('must be a JSON object, the schema of a record');
  for (const pointer of repeatedNames(text))
    faults.push({ file, pointer, reason: 'is there twice: the first one would have no effect' });
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

/** An object or an array whose end was not reached. */
interface Open {
  readonly pointer: string;
  /** The names of an object; absent: an array. */
  readonly names?: Set<string>;
  /** The name or the index of the present member. */
  member: string;
}

/** JSON Pointers to the members that an object of a valid JSON text has twice. A parser would ignore the first one of each. */
function repeatedNames(text: string): string[] {
  const open: Open[] = [];
  const found: string[] = [];
  let last = '';
  for (const token of tokensOf(text)) {
    const inner = open.at(-1);
    if (token === '{' || token === '[') {
      const pointer = inner ? `${inner.pointer}/${escapeToken(inner.member)}` : '';
      open.push(token === '{' ? { pointer, names: new Set(), member: '' } : { pointer, member: '0' });
    } else if (token === '}' || token === ']') open.pop();
    else if (token === ':' && inner?.names) {
      inner.member = JSON.parse(last) as string;
      if (inner.names.has(inner.member)) found.push(`${inner.pointer}/${escapeToken(inner.member)}`);
      inner.names.add(inner.member);
    } else if (token === ',' && inner && !inner.names) inner.member = String(Number(inner.member) + 1);
    else if (token.startsWith('"')) last = token;
  }
  return [...new Set(found)];
}

/** The texts, and all other characters one by one. */
function* tokensOf(text: string): Generator<string> {
  for (let at = 0; at < text.length; ) {
    const end = text[at] === '"' ? endOfText(text, at) : at + 1;
    yield text.slice(at, end);
    at = end;
  }
}

function endOfText(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}
