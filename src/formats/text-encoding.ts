import { isUtf8 } from 'node:buffer';

/** The bytes of the character that stands for what is no UTF-8. */
const REPLACEMENT = Buffer.from('\ufffd');

/** Says which bytes are not UTF-8; `offset` is that of the bytes in their file. */
export function notUtf8(bytes: Buffer, offset: number): string {
  let at = 0;
  for (const character of bytes.toString('utf8')) {
    const length = Buffer.byteLength(character);
    if (character === '\ufffd' && !bytes.subarray(at, at + length).equals(REPLACEMENT)) break;
    at += length;
  }
  const wrong = [...bytes.subarray(at, at + 4)].map((byte) =>
    byte.toString(16).padStart(2, '0').toUpperCase(),
  );
  return `is not UTF-8: the bytes ${wrong.join(' ')} at offset ${offset + at}`;
}

/**
 * The encoding that a byte order mark names, and the bytes of the mark. Without a mark, a first character of ASCII and a byte of
 * zero beside it are UTF-16, in which some programs of Windows write: no JSON, CSV or settings begin so in UTF-8.
 */
export function markOf(head: Buffer): {
  readonly encoding: 'utf-8' | 'utf-16le' | 'utf-16be';
  readonly bytes: number;
} {
  if (head[0] === 0xff && head[1] === 0xfe) return { encoding: 'utf-16le', bytes: 2 };
  if (head[0] === 0xfe && head[1] === 0xff) return { encoding: 'utf-16be', bytes: 2 };
  const isMarked = head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf;
  if (isMarked) return { encoding: 'utf-8', bytes: 3 };
  const [first = 0, second, third, fourth] = head;
  if (first !== 0 && second === 0 && third !== 0) return { encoding: 'utf-16le', bytes: 0 };
  if (first === 0 && second !== 0 && third === 0 && fourth !== 0) return { encoding: 'utf-16be', bytes: 0 };
  return { encoding: 'utf-8', bytes: 0 };
}

/** The text of a small file, without its byte order mark. Throws TypeError for bytes that are neither UTF-8 nor UTF-16. */
export function textOf(bytes: Buffer): string {
  const { encoding, bytes: mark } = markOf(bytes);
  const content = bytes.subarray(mark);
  if (encoding !== 'utf-8') return new TextDecoder(encoding, { fatal: true }).decode(content);
  if (!isUtf8(content)) throw new TypeError(notUtf8(content, mark));
  return content.toString('utf8');
}
