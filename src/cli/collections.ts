import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { readConfig } from '../config/config.js';
import { checkDeclarations } from '../declarations/check-declarations.js';
import type { DeclaredField } from '../declarations/declaration.js';
import { readDeclarations } from '../declarations/read-declarations.js';
import { ExitError } from '../exit-error.js';
import { parse, subcommandOf } from './arguments.js';
import { OutputError, UsageError } from './exit.js';
import { print } from './output.js';

/** Checks declarations, or writes a new one. Needs no database. Throws UsageError, DeclarationError and ExitError. */
export async function collectionsCommand(args: string[]): Promise<void> {
  const { verb, rest } = subcommandOf('collections', args);
  if (verb === 'check') return check(parse('collections', 'check', rest).values.json);
  const { values, positionals } = parse('collections', 'new', rest);
  const [name, ...others] = positionals;
  if (name === undefined || others.length > 0) throw new UsageError('name one collection', 'collections');
  await writeNew(name, values.fields, values.json);
}

function check(json: boolean): void {
  const declarations = readDeclarations(readConfig().collections);
  checkDeclarations(declarations);
  const found = declarations.collections.map(({ name, file, schema }) => ({
    name,
    file,
    fields: Object.keys(schema.properties).length,
  }));
  const lines = found.map(({ name, file, fields }) => `${name}: ${fields} fields (${file})\n`);
  print(json, found, lines.join(''));
}

/** The schemas of the types that --fields can name. */
const TYPES: Readonly<Record<string, DeclaredField>> = {
  string: { type: 'string' },
  text: { type: 'string' },
  number: { type: 'number' },
  integer: { type: 'integer' },
  boolean: { type: 'boolean' },
  date: { type: 'string', format: 'date' },
  'date-time': { type: 'string', format: 'date-time' },
  strings: { type: 'array', items: { type: 'string' } },
  object: { type: 'object' },
};

async function writeNew(name: string, given: string | undefined, json: boolean): Promise<void> {
  const { collections = './collections' } = readConfig();
  const file = join(collections, `${name}.json`);
  if (existsSync(file)) throw new ExitError(`${file} exists already`);
  const texts = given === undefined ? await askForFields() : given.split(',');
  const fields = texts.map(readField);
  const required = fields.filter((field) => field.isRequired).map((field) => field.name);
  const parent = fields.find(({ schema }) => schema['x-references'] !== undefined);
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: titleOf(name),
    type: 'object' as const,
    ...(required.length > 0 && { required }),
    properties: Object.fromEntries(fields.map((field) => [field.name, field.schema])),
    ...(parent && { 'x-collection': { nested: true } }),
  };
  const { $schema: _, ...declared } = schema;
  const declarations = readDeclarations(existsSync(collections) ? collections : undefined);
  checkDeclarations({
    ...declarations,
    collections: [...declarations.collections, { name, file, schema: declared }],
  });
  try {
    mkdirSync(collections, { recursive: true });
    writeFileSync(file, `${JSON.stringify(schema, null, 2)}\n`, { flag: 'wx' });
  } catch (error) {
    throw new OutputError(`${file} cannot be written: ${(error as Error).message}`);
  }
  const next = `${file} declares /${name}. Start the service, or run: plinth migrate --plan\n`;
  print(json, { name, file }, next);
}

/** Reads `title:string!`. Text is not indexed, other values are. Throws UsageError. */
function readField(text: string): { name: string; isRequired: boolean; schema: DeclaredField } {
  const [, name, type, mark] = /^\s*([^:\s]+):([a-z][a-z0-9_-]*)(!?)\s*$/.exec(text) ?? [];
  if (name === undefined || type === undefined)
    throw new UsageError(`a field must be FIELD:TYPE, not ${text}`, 'collections');
  const schema = TYPES[type] ?? ({ type: 'string', format: 'uuid', 'x-references': type } as DeclaredField);
  const isIndexed = TYPES[type] !== undefined && type !== 'text' && type !== 'object';
  return { name, isRequired: mark === '!', schema: isIndexed ? { ...schema, 'x-index': true } : schema };
}

/** `order_lines` is Order line. */
function titleOf(name: string): string {
  const words = name.replaceAll('_', ' ').replace(/ies$/, 'y').replace(/s$/, '');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

/** Asks on the terminal, one field a line, until an empty line. */
async function askForFields(): Promise<string[]> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const fields: string[] = [];
  try {
    for (;;) {
      const line = await lines.question('field:type (empty: done): ');
      if (line.trim() === '') return fields;
      readField(line);
      fields.push(line);
    }
  } finally {
    lines.close();
  }
}
