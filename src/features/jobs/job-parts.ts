import type { Run } from '../../db/db.js';
import { LEASE_SECONDS, SQL } from './job-store.js';

/** Bytes of the body in one row. */
export const PART_BYTES = 262_144;

/** Stores the part of the body at a position. False: the job was cancelled. */
export const addInput = async (run: Run, id: string, position: number, bytes: Buffer): Promise<boolean> =>
  (await run(SQL.add_input, [id, position, bytes.toString('base64'), LEASE_SECONDS * 4])).length > 0;

/** The body of a job from a position on. */
export async function* inputFrom(run: Run, id: string, position: number): AsyncGenerator<Buffer> {
  for (let at = position - (position % PART_BYTES); ; at += PART_BYTES) {
    const [row] = await run(SQL.input, [id, at]);
    if (!row) return;
    const bytes = Buffer.from(row.bytes as string, 'base64');
    yield at < position ? bytes.subarray(position - at) : bytes;
  }
}
