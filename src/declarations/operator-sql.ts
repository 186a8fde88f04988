import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathIn } from '../config/parsers.js';
import { textOf } from '../formats/text-encoding.js';
import type { SqlFile } from './declaration.js';
import { DeclarationError, readFaultOf } from './read-declarations.js';

/** Files in the folder, and bytes of one file. */
const MAX_FILES = 1000;
const MAX_BYTES = 1_048_576;

/** Reads the SQL files in a folder, in the order of their names. A relative folder is in `base`. Throws DeclarationError. */
export function readSqlFiles(folder: string, base = ''): SqlFile[] {
  const path = pathIn(base, folder);
  const names = readdirSync(path, { withFileTypes: true })
    .filter((entry) => !entry.isDirectory() && entry.name.endsWith('.sql') && !entry.name.startsWith('.'))
    .map(({ name }) => name)
    .sort();
  const fault = (file: string, reason: string) => new DeclarationError([{ file, pointer: '', reason }]);
  if (names.length > MAX_FILES) throw fault(folder, `has more than ${MAX_FILES} SQL files`);
  return names.map((name) => {
    const file = join(folder, name);
    const text = readText(join(path, name), (reason) => fault(file, reason));
    if (Buffer.byteLength(text) > MAX_BYTES) throw fault(file, `has more than ${MAX_BYTES} bytes`);
    return { name, text, checksum: createHash('sha256').update(text).digest('hex') };
  });
}

function readText(path: string, fault: (reason: string) => Error): string {
  try {
    return textOf(readFileSync(path));
  } catch (error) {
    throw fault(readFaultOf(error as Error));
  }
}
