import { InputError } from '../../cli/io.js';
import { turn } from '../../limits/turn.js';
import type { ScannedRecord, Scanner } from './scan.js';

/** Where reading begins: an offset in bytes, and the line or the index of the record there. */
export interface Position {
  readonly position: number;
  readonly place: number;
}

/** Some complete records, and where the next begin. */
export interface Chunk {
  readonly bytes: Buffer;
  readonly records: readonly ScannedRecord[];
  /** The offset of `bytes` in the file. */
  readonly offset: number;
  readonly next: Position;
}

/** Bytes of records that are stored together. Passwords take long. */
export const chunkBytes = (hasPasswords: boolean): number => (hasPasswords ? 16_384 : 262_144);

/** Bytes of one record that memory has room for; records are refused from a much lower limit on. */
const MAX_RECORD_BYTES = 67_108_864;

const tooLongInFile = ({ position, place }: Position) =>
  new InputError(
    `the record at byte ${position} (${place}) has more than ${MAX_RECORD_BYTES} bytes: is a quotation mark or a bracket not closed?`,
  );

/** Records of which all are in memory together: lines can have two bytes. */
const MAX_RECORDS = 4096;

interface ChunkBounds {
  /** Bytes that are scanned together, about. */
  readonly size: number;
  /** The place of the first record that is wanted. */
  readonly since?: number | undefined;
  readonly maxRecords?: number;
  readonly maxRecordBytes?: number;
  /** The error of a record with more. */
  readonly tooLong?: (position: Position) => unknown;
}

/** The records of a stream of bytes, in chunks. Throws InputError, or what `tooLong` returns. */
export async function* chunksOf(
  bytes: AsyncIterable<Buffer>,
  scanner: Scanner,
  from: Position,
  { size, since = 0, tooLong = tooLongInFile, ...max }: ChunkBounds,
): AsyncGenerator<Chunk> {
  const { maxRecords = MAX_RECORDS, maxRecordBytes = MAX_RECORD_BYTES } = max;
  let parts: Buffer[] = [];
  let { position, place } = from;
  let isDone = false;
  function* take(isEnd: boolean): Generator<Chunk> {
    const all = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
    const [offset, max] = [position, Math.min(maxRecords, MAX_RECORDS)];
    let next = 0;
    for (let count = max; count === max; ) {
      const records: ScannedRecord[] = [];
      ({ next, place, isDone } = scanner({ bytes: all, from: next, place, isEnd, max }, records));
      position = offset + next;
      count = records.length;
      const wanted = records.filter((each) => each.place >= since);
      if (wanted.length > 0) yield { bytes: all, records: wanted, offset, next: { position, place } };
    }
    // A copy, so that the bytes before it are released.
    parts = [Buffer.from(all.subarray(next))];
    if (parts[0]!.length > maxRecordBytes) throw tooLong({ position, place });
  }
  let [length, wanted] = [0, size];
  for await (const part of bytes) {
    await turn();
    if (part.length === 0) continue;
    parts.push(part);
    length += part.length;
    if (length < wanted) continue;
    yield* take(false);
    if (isDone) return;
    length = parts[0]!.length;
    // An incomplete record is scanned again when there is twice as much of it.
    wanted = Math.max(size, 2 * length);
  }
  yield* take(true);
}
