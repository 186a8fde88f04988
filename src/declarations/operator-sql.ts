import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathIn } from '../config/parsers.js';
import type { SqlFile } from './declaration.js';
import { DeclarationError } from './read-declarations.js';

/** Files in the folder, and bytes of one file. */
const MAX_FILES = 1000;
const MAX_BYTES = 1_048_576;
/** A file is one transaction, which these statements would end. `begin` and `end` of PL/pgSQL have no semicolon, or follow it. */
const TRANSACTION =
  /^[ \t]*(?:begin\s*;|begin\s+(?:transaction|work)\b|start\s+transaction\b|commit\b|rollback\b|abort\b)/im;

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
    const text = readFileSync(join(path, name), 'utf8').replace(/^\uFEFF/, '');
    const file = join(folder, name);
    if (Buffer.byteLength(text) > MAX_BYTES) throw fault(file, `has more than ${MAX_BYTES} bytes`);
    if (TRANSACTION.test(text.replace(/--.*$/gm, '')))
      throw fault(file, 'begins or ends a transaction; each file is run in one');
    return { name, text, checksum: createHash('sha256').update(text).digest('hex') };
  });
}
