import { turn } from '../../limits/turn.js';
import { FileError } from './input.js';
import type { Scan, Scanner } from './scan.js';

/** Where reading begins: an offset in bytes, and the line or the index of the record there. */
export interface Position {
  readonly position: number;
  readonly place: number;
}

/** Some complete records, and where the next begin. */
export interface Chunk extends Scan {
  readonly bytes: Buffer;
  /** The offset of `bytes` in the file. */
  readonly offset: number;
  readonly next: Position;
}

/** Bytes of one record that memory has room for; records are refused from a much lower limit on. */
const MAX_RECORD_BYTES = 67_108_864;

const tooLongInFile = ({ position, place }: Position) =>
  new FileError(
    `the record at byte ${position} (${place}) has more than ${MAX_RECORD_BYTES} bytes: is a quotation mark or a bracket not closed?`,
  );

/** The records of a stream of bytes, in chunks of about `size` bytes. Throws FileError, or what `tooLong` returns. */
export async function* chunksOf(
  bytes: AsyncIterable<Buffer>,
  scanner: Scanner,
  from: Position,
  size: number,
  maxRecordBytes = MAX_RECORD_BYTES,
  tooLong: (position: Position) => unknown = tooLongInFile,
): AsyncGenerator<Chunk> {
  let parts: Buffer[] = [];
  let length = 0;
  let { position, place } = from;
  let isDone = false;
  const take = (isEnd: boolean): Chunk => {
    const all = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
    const found: Scan = { starts: [], ends: [], places: [] };
    const scanned = scanner.scan(all, 0, place, isEnd, found);
    const offset = position;
    // A copy, so that the bytes before it are released.
    const rest = Buffer.from(all.subarray(scanned.next));
    parts = [rest];
    length = rest.length;
    position += scanned.next;
    place = scanned.place;
    isDone = scanned.isDone;
    if (length > maxRecordBytes) throw tooLong({ position, place });
    return { ...found, bytes: all, offset, next: { position, place } };
  };
  let wanted = size;
  for await (const part of bytes) {
    await turn();
    if (part.length === 0) continue;
    parts.push(part);
    length += part.length;
    if (length < wanted) continue;
    const chunk = take(false);
    // An incomplete record is scanned again when there is twice as much of it.
    wanted = Math.max(size, 2 * length);
    if (chunk.starts.length > 0) yield chunk;
    if (isDone) return;
  }
  const last = take(true);
  if (last.starts.length > 0) yield last;
}
