import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { ConfigError, readConfig } from '../config/config.js';
import { EmbeddedError } from '../db/embedded/cluster.js';
import { DatabaseError } from '../db/migrate.js';
import { openDatabase } from '../db/open.js';
import { readRecords } from '../http/strict-json.js';
import { isObject, type Json } from '../json.js';
import { hashOnAllCores } from '../passwords/password-queue.js';
import { Problem } from '../problem.js';
import { openCollections } from '../routes.js';
import { createLog } from '../telemetry/log.js';
import { type Imported, importRecords } from './importer.js';

const USAGE = `usage: plinth import FILE.json [--as COLLECTION] [--rename FROM=TO]... [--strict]

FILE.json holds {"collection": [records], ...}. Ids are new; references between its records are kept.
  --as COLLECTION   the file is one array of records, or an object with one, of this collection
  --rename FROM=TO  a top-level field of every record has another name here; may be repeated
  --strict          stop at the first record that is refused; what went in before it stays

A user's password may be given as its hash: "password_hash", scrypt$N$r$p$salt$key or bcrypt's $2b$cost$...
`;

/** sysexits.h: wrong usage, bad configuration. */
const EX_USAGE = 64;
const EX_CONFIG = 78;

/** The command line is at fault, told in one line and the usage. */
class UsageError extends Error {}

/** The file is at fault, told in one line. */
class FileError extends Error {}

interface Command {
  readonly file: string;
  readonly as: string | undefined;
  readonly strict: boolean;
  readonly rename: ReadonlyMap<string, string>;
}

async function main(): Promise<void> {
  const command = readCommand(process.argv.slice(2));
  if (!command) {
    process.stdout.write(USAGE);
    return;
  }
  const config = readConfig();
  const records = recordsOf(command);
  const log = createLog(config.logLevel);
  hashOnAllCores();
  const database = await openDatabase(config, log);
  try {
    const collections = Object.values(await openCollections(database.db, config.tombstones));
    const names = collections.map(({ resource }) => resource.name);
    const unknown = [...records.keys()].find((name) => !names.includes(name));
    if (unknown !== undefined)
      throw new FileError(`there is no collection ${unknown}: there are ${names.join(', ')}`);
    const { imported, fault } = await importRecords(collections, records, {
      ...command,
      recordLimit: config.bodyLimit,
      onRefused,
      onProgress,
    });
    report(imported);
    if (fault !== undefined) throw fault;
  } finally {
    await database.close();
  }
}

function readCommand(args: string[]): Command | undefined {
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(args);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
  const { values, positionals } = parsed;
  if (values.help) return undefined;
  const [file, ...rest] = positionals;
  if (file === undefined || rest.length > 0) throw new UsageError('name one file');
  const rename = new Map<string, string>();
  for (const text of values.rename) {
    const at = text.indexOf('=');
    if (at < 1 || at === text.length - 1) throw new UsageError(`--rename takes FROM=TO, not ${text}`);
    rename.set(text.slice(0, at), text.slice(at + 1));
  }
  return { file, as: values.as, strict: values.strict, rename };
}

function parse(args: string[]) {
  return parseArgs({
    args,
    allowPositionals: true,
    options: {
      as: { type: 'string' },
      rename: { type: 'string', multiple: true, default: [] },
      strict: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
}

/** The records of a file by collection. The file is read whole: it takes a few times its size in memory. */
function recordsOf({ file, as }: Command): Map<string, Json[]> {
  const value = parseFile(file);
  if (as !== undefined) {
    const lists = isObject(value) ? Object.values(value).filter(Array.isArray) : [value];
    if (lists.length !== 1 || !Array.isArray(lists[0]))
      throw new FileError(`${file} does not hold one array of records`);
    return new Map([[as, lists[0]]]);
  }
  if (!isObject(value)) throw new FileError(`${file} holds no {"collection": [records]}: is --as missing?`);
  const entries = Object.entries(value);
  const odd = entries.find(([, list]) => !Array.isArray(list));
  if (odd) throw new FileError(`${file}: ${odd[0]} is not an array of records`);
  return new Map(entries as [string, Json[]][]);
}

function parseFile(file: string): Json {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    throw new FileError(`${file} cannot be read: ${(error as Error).message}`);
  }
  try {
    return readRecords(bytes);
  } catch (error) {
    const [failure] = error instanceof Problem ? (error.more.details as { message: string }[]) : [];
    throw new FileError(`${file}: ${failure?.message ?? (error as Error).message}`);
  }
}

function onRefused(place: string, reason: string): void {
  clearProgress();
  process.stderr.write(`${place}: ${reason}\n`);
}

/** How often progress is shown: by a line that is overwritten on a terminal, by a line of its own elsewhere. */
const TERMINAL_MS = 100;
const LINE_MS = 10_000;

let shown = Date.now();

function onProgress(collection: string, done: number, of: number): void {
  const { isTTY } = process.stderr;
  const isDue = Date.now() - shown >= (isTTY ? TERMINAL_MS : LINE_MS) || (isTTY && done === of);
  if (!isDue) return;
  shown = Date.now();
  const line = `${collection}: ${done} of ${of}`;
  process.stderr.write(isTTY ? `\r${line}\x1b[K` : `${line}\n`);
}

function clearProgress(): void {
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
}

function report(results: readonly Imported[]): void {
  clearProgress();
  for (const { collection, stored, refused } of results) {
    process.stdout.write(`${collection}: ${stored} stored, ${refused} refused\n`);
  }
  if (results.some(({ refused }) => refused > 0)) process.exitCode = 1;
}

/** The message alone for what is told in one line; the stack of a fault of ours. */
function wordsOf(error: unknown): string {
  const told = [UsageError, FileError, DatabaseError, EmbeddedError].some((type) => error instanceof type);
  if (told) return (error as Error).message;
  if (error instanceof Problem) return `the rest was not loaded: ${error.message}`;
  return (error as Error)?.stack ?? String(error);
}

function codeOf(error: unknown): number {
  if (error instanceof ConfigError) return EX_CONFIG;
  return error instanceof UsageError || error instanceof FileError ? EX_USAGE : 1;
}

// An exit in order: it ends an embedded PostgreSQL, which a signal alone would leave behind.
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));

main().catch((error: unknown) => {
  const lines = error instanceof ConfigError ? error.faults : [wordsOf(error)];
  for (const line of lines) process.stderr.write(`import: ${line}\n`);
  if (error instanceof UsageError) process.stderr.write(USAGE);
  process.exit(codeOf(error));
});
