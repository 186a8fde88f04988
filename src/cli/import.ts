import { readFileSync } from 'node:fs';
import { RESOURCES } from '../collection/resources/resources.js';
import { readConfig } from '../config/config.js';
import { openDatabase } from '../db/open.js';
import { ExitError } from '../exit-error.js';
import { readRecords } from '../http/strict-json.js';
import { isObject, type Json } from '../json.js';
import { hashOnAllCores } from '../passwords/password-queue.js';
import { Problem } from '../problem.js';
import { openCollections } from '../routes.js';
import { createLog } from '../telemetry/log.js';
import { exitOnSignals, parse, UsageError } from './exit.js';
import { importRecords } from './importer.js';

const USAGE = `usage: plinth import FILE.json [--as COLLECTION] [--rename FROM=TO]... [--strict]

FILE.json holds {"collection": [records], ...}. Ids are new; references between its records are preserved.
  --as COLLECTION   the file is one array of records, or an object with one, of this collection
  --rename FROM=TO  renames a top-level field of every record; may be repeated
  --strict          stop at the first record that is refused; the records before it stay

A user's password may be given as its hash: "password_hash", scrypt$N$r$p$salt$key or bcrypt's $2b$cost$...
`;

/** The file cannot be loaded. */
class FileError extends ExitError {
  override readonly exitCode = 64;
}

interface Options {
  readonly file: string;
  readonly as: string | undefined;
  readonly strict: boolean;
  readonly rename: ReadonlyMap<string, string>;
}

/** Loads the records of a file. Throws ExitError; refused records are printed, and make the exit code 1. */
export async function importCommand(args: string[]): Promise<void> {
  const options = readOptions(args);
  if (!options) return void process.stdout.write(USAGE);
  const config = readConfig();
  const records = recordsOf(options);
  exitOnSignals();
  hashOnAllCores();
  const database = await openDatabase(config, createLog(config.logLevel));
  try {
    const collections = await openCollections(database.db, RESOURCES, config.tombstones);
    const names = collections.map(({ resource }) => resource.name);
    const unknown = [...records.keys()].find((name) => !names.includes(name));
    if (unknown !== undefined)
      throw new FileError(`there is no collection ${unknown}: there are ${names.join(', ')}`);
    const { imported, fault } = await importRecords(collections, records, {
      ...options,
      recordLimit: config.bodyLimit,
      onRefused: (place, reason) => {
        clearProgress();
        process.stderr.write(`${place}: ${reason}\n`);
      },
      onProgress: showProgress,
    });
    clearProgress();
    for (const { collection, stored, refused } of imported) {
      process.stdout.write(`${collection}: ${stored} stored, ${refused} refused\n`);
      if (refused > 0) process.exitCode = 1;
    }
    if (fault instanceof Problem) throw new ExitError(`the rest was not loaded: ${fault.message}`);
    if (fault !== undefined) throw fault;
  } finally {
    await database.close();
  }
}

/** Undefined for --help. Throws UsageError. */
function readOptions(args: string[]): Options | undefined {
  const { values, positionals } = parse(
    {
      args,
      allowPositionals: true,
      options: {
        as: { type: 'string' },
        rename: { type: 'string', multiple: true, default: [] },
        strict: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    },
    USAGE,
  );
  if (values.help) return undefined;
  const [file, ...rest] = positionals;
  if (file === undefined || rest.length > 0) throw new UsageError('name one file', USAGE);
  const renames = values.rename.map((text): [string, string] => {
    const [, from, to] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
    if (from === undefined || to === undefined)
      throw new UsageError(`--rename must be FROM=TO, not ${text}`, USAGE);
    return [from, to];
  });
  return { file, as: values.as, strict: values.strict, rename: new Map(renames) };
}

/** The records of a file by collection. The file is read whole, which takes a few times its size in memory. */
function recordsOf({ file, as }: Options): Map<string, Json[]> {
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

/** Intervals of the progress: a line that is overwritten on a terminal, a line of its own elsewhere. */
const TERMINAL_MS = 100;
const LINE_MS = 10_000;

let shownAt = Date.now();

function showProgress(collection: string, done: number, of: number): void {
  const { isTTY } = process.stderr;
  const isDue = Date.now() - shownAt >= (isTTY ? TERMINAL_MS : LINE_MS) || (isTTY && done === of);
  if (!isDue) return;
  shownAt = Date.now();
  const line = `${collection}: ${done} of ${of}`;
  process.stderr.write(isTTY ? `\r${line}\x1b[K` : `${line}\n`);
}

function clearProgress(): void {
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
}
