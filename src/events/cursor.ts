import { EVENTS_SQL } from '../db/core-statements.js';
import type { Run } from '../db/db.js';
import { invalidCursor } from '../errors/input-errors.js';

/** A history of the database. After a failover that lost writes, and after a restore, another one begins. */
export interface Epoch {
  readonly name: string;
  /** The last event before it; 0: none. */
  readonly startsAfter: number;
}

/** The epochs that are known, the oldest first. */
export async function readEpochs(run: Run): Promise<Epoch[]> {
  const rows = await run(EVENTS_SQL.epochs, []);
  return rows.map((row) => ({ name: String(row.name), startsAfter: Number(row.first_after) }));
}

/** The cursor of a position: opaque text that sorts in the order of the feed, and names the epoch of its event. */
export function cursorIn(epochs: readonly Epoch[], position: number): string {
  const epoch = epochs.findLast(({ startsAfter }) => startsAfter < position) ?? epochs[0];
  return `${positionText(position)}-${epoch!.name}`;
}

/**
 * The position of a cursor; undefined: it is from a history that did not become the present one. A cursor without an
 * epoch, as earlier versions gave, is of the first one. Throws 400 for any other text.
 */
export function positionIn(epochs: readonly Epoch[], cursor: string): number | undefined {
  const [, text, name] = /^([0-9a-z]{11})(?:-([0-9a-f]{6}))?$/.exec(cursor) ?? [];
  if (text === undefined) throw invalidCursor();
  const position = parsePosition(text);
  const at = name === undefined ? 0 : epochs.findIndex((epoch) => epoch.name === name);
  const next = epochs[at + 1];
  return at < 0 || (next && position > next.startsAfter) ? undefined : position;
}

const LENGTH = 11;

/** The number of an event as text that sorts in the order of the feed. */
export function positionText(seq: number): string {
  return seq.toString(36).padStart(LENGTH, '0');
}

/** The number that a text of `positionText` has. Throws 400 for any other text. */
export function parsePosition(text: string): number {
  const seq = /^[0-9a-z]{11}$/.test(text) ? Number.parseInt(text, 36) : Number.NaN;
  if (!Number.isSafeInteger(seq)) throw invalidCursor();
  return seq;
}
