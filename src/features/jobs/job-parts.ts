import type { Run } from '../../db/db.js';
import { LEASE_SECONDS, SQL } from './job-store.js';

/** Bytes of the body, or of the result, in one row. */
export const PART_BYTES = 262_144;

/** Stores the part of the body at a position. False: the job was cancelled. */
export const addInput = async (run: Run, id: string, position: number, bytes: Buffer): Promise<boolean> =>
  (await run(SQL.add_input, [id, position, bytes.toString('base64'), LEASE_SECONDS * 4])).length > 0;

/** Stores the part of the result at a position. False: the job is not that of the process any more. */
export const addResult = async (
  run: Run,
  id: string,
  lease: string,
  position: number,
  bytes: Buffer,
): Promise<boolean> =>
  (await run(SQL.add_result, [id, lease, position, bytes.toString('base64')])).length > 0;

export const clearParts = async (run: Run, id: string): Promise<void> =>
  void (await run(SQL.clear_parts, [id]));

/** The body of a job from a position on. */
export async function* inputFrom(run: Run, id: string, position: number): AsyncGenerator<Buffer> {
  for (let at = position - (position % PART_BYTES); ; at += PART_BYTES) {
    const [row] = await run(SQL.input, [id, at]);
    if (!row) return;
    const bytes = Buffer.from(row.bytes as string, 'base64');
    yield at < position ? bytes.subarray(position - at) : bytes;
  }
}
