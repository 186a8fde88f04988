import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ownPathsOf } from '../config/config.js';
import { checkDeclarations, readChecked } from '../declarations/check-declarations.js';
import { type DeclaredField, FIELD_TYPES, newDeclaration, referenceTo } from '../declarations/declaration.js';
import { declarationWarnings } from '../declarations/declaration-warnings.js';
import { readDeclarations } from '../declarations/read-declarations.js';
import { resourcesWithoutRefs } from '../declarations/resource-of.js';
import { ExitError } from '../errors/exit-error.js';
import { requireInShards } from '../schema/shards.js';
import { parse, subcommandOf } from './arguments.js';
import { configOf, fileOf, type Io, OutputError, UsageError } from './io.js';
import { print } from './output.js';
import { SERVICE_COMMANDS } from './table/service-commands.js';

/** Checks declarations, or writes a new one. Needs no database. Throws UsageError, DeclarationError and ExitError. */
export async function collectionsCommand(args: string[], io: Io): Promise<void> {
  const { verb, rest } = subcommandOf(SERVICE_COMMANDS, 'collections', args);
  if (verb === 'check') return check(io, parse(SERVICE_COMMANDS, 'collections', 'check', rest).values.json);
  const { values, positionals } = parse(SERVICE_COMMANDS, 'collections', 'new', rest);
  writeNew(io, positionals[0]!, values.fields, values.json);
}

function check(io: Io, json: boolean): void {
  const config = configOf(io);
  const declarations = readChecked(config.collections, config.folder, ownPathsOf(config));
  const { collections } = declarations;
  requireInShards(collections, resourcesWithoutRefs(collections), config.databaseEngine);
  for (const { file, pointer, reason } of declarationWarnings(declarations))
    io.stderr.write(`warning: ${file}#${pointer}: ${reason}\n`);
  const found = collections.map(({ name, file, schema }) => ({
    name,
    file,
    fields: Object.keys(schema.properties).length,
  }));
  const lines = found.map(({ name, file, fields }) => `${name}: ${fields} fields (${file})\n`);
  print(io, json, found, lines.join(''));
}

function writeNew(io: Io, name: string, given: string, json: boolean): void {
  const config = configOf(io);
  const { collections = './collections', folder } = config;
  const path = fileOf(io, collections);
  const file = join(collections, `${name}.json`);
  if (existsSync(fileOf(io, file))) throw new ExitError(`${file} exists already`);
  const fields = given.split(',').map(readField);
  const required = fields.filter((field) => field.isRequired).map((field) => field.name);
  const parent = fields.find(({ schema }) => schema['x-references'] !== undefined);
  const schema = {
    ...newDeclaration(name),
    ...(required.length > 0 && { required }),
    properties: Object.fromEntries(fields.map((field) => [field.name, field.schema])),
    ...(parent && { 'x-collection': { nested: true } }),
  };
  const { $schema: _, ...declared } = schema;
  const declarations = readDeclarations(existsSync(path) ? collections : undefined, folder);
  checkDeclarations({
    ...declarations,
    ownPaths: ownPathsOf(config),
    collections: [...declarations.collections, { name, file, schema: declared }],
  });
  try {
    mkdirSync(path, { recursive: true });
    writeFileSync(fileOf(io, file), `${JSON.stringify(schema, null, 2)}\n`, { flag: 'wx' });
  } catch (error) {
    throw new OutputError(`${file} cannot be written: ${(error as Error).message}`);
  }
  const next = `${file} declares /${name}. Start the service, or run: plinth migrate --plan\n`;
  print(io, json, { name, file }, next);
}

/**
 * Reads `title:string!`, or `authorId:authors` for a reference; a slash tells a collection from the type of its name. Text is not
 * indexed, other values are. Throws UsageError.
 */
function readField(text: string): { name: string; isRequired: boolean; schema: DeclaredField } {
  const [, name, slash, type, list, mark] =
    /^\s*([^:\s]+):(\/)?([a-z][a-z0-9_-]*)(\[\])?(!?)\s*$/.exec(text) ?? [];
  const usual = slash === undefined ? FIELD_TYPES.get(type ?? '') : undefined;
  if (name === undefined || type === undefined || (list !== undefined && usual))
    throw new UsageError(`a field must be FIELD:TYPE, not ${text}`, 'collections');
  const schema = usual ?? referenceTo(type, list !== undefined);
  const isIndexed = usual && type !== 'text' && type !== 'object';
  return { name, isRequired: mark === '!', schema: isIndexed ? { ...schema, 'x-index': true } : schema };
}
