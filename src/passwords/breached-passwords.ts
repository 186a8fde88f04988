import { hash } from 'node:crypto';
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';

const DIGITS = 40;
/** Bytes that contain the rest of one line and the whole of the next one. */
const READ_BYTES = 256;

/** Whether the first line of a file is the SHA-1 of a password in hexadecimal, and anything after it. */
export function isBreachedFile(path: string): boolean {
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return false;
  const file = openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(DIGITS + 1);
    readSync(file, buffer);
    return /^[0-9A-F]{40}[^0-9A-F]/i.test(buffer.toString('latin1'));
  } finally {
    closeSync(file);
  }
}

/**
 * Whether a password is in a file with a hash a line, in the order of the hashes, as haveibeenpwned-downloader writes it. A binary search
 * reads about forty parts of a file of any size. Rejects if the file is gone.
 */
export async function isBreached(path: string, password: string): Promise<boolean> {
  const sought = hash('sha1', password, 'hex').toUpperCase();
  const file = await open(path).catch((cause: Error) => {
    // The code of the error alone would mean a socket of the database.
    throw new Error(`BREACHED_PASSWORDS cannot be read: ${cause.message}`);
  });
  try {
    // A line begins at `low`. The line of the hash begins before `high`.
    let low = 0;
    let { size: high } = await file.stat();
    const buffer = Buffer.alloc(READ_BYTES);
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const from = middle === low ? low : middle - 1;
      const { bytesRead } = await file.read(buffer, 0, READ_BYTES, from);
      const text = buffer.toString('latin1', 0, bytesRead);
      const begin = middle === low ? 0 : text.indexOf('\n') + 1;
      const isAfter = from + begin >= high || (begin === 0 && middle !== low);
      const found = text.slice(begin, begin + DIGITS).toUpperCase();
      if (!isAfter && found === sought) return true;
      if (isAfter || found > sought) high = middle;
      else {
        const length = text.indexOf('\n', begin) + 1 - begin;
        if (length <= 0) return false;
        low = from + begin + length;
      }
    }
    return false;
  } finally {
    await file.close();
  }
}
