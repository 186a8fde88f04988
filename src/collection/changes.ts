import type { Run } from '../db/db.js';
import { beyond } from '../errors/service-errors.js';
import type { JsonObject } from '../json.js';
import { ParseLimit } from '../limits/parse-limit.js';
import { ofDocument, turn } from '../limits/turn.js';
import { WorkSlots } from '../work/shared-runs.js';
import { inAttempts } from './attempts.js';
import { modifiedAt } from './document.js';
import { isStored, type NotFoundReason, type PreconditionFailed, type StoredRecord } from './record.js';
import type { ValidatedInput } from './validated-input.js';
import { admits, NO_PRECONDITIONS, onlyThis, type WritePreconditions } from './write-preconditions.js';

/** A record before a change, with its members, which are parsed once. */
export interface Present<P extends StoredRecord = StoredRecord> {
  readonly stored: P;
  readonly record: JsonObject;
}

/** A change of a record. */
export interface Change {
  /** Absent: none. */
  readonly preconditions?: WritePreconditions;
  /** Whether `next` needs the record before the change. Otherwise the statement that writes checks the preconditions alone. */
  readonly isRead: boolean;
  /** The record after the change. It runs again if others have changed the record meanwhile. */
  next(present: Present | undefined): ValidatedInput | Promise<ValidatedInput>;
}

/** The result of a change of a record. */
export type Changed = StoredRecord | PreconditionFailed | NotFoundReason;

/** Limits the records that changes of this process hold as values. */
const parseLimit = new ParseLimit();

/**
 * Changes records by reading and writing them: the write is for the version that was read, and after another change of the record both
 * begin again. `read` throws if the caller may not change the record.
 */
export function changing<P extends StoredRecord>(
  read: (id: string, run: Run | undefined) => Promise<P | NotFoundReason>,
  write: (
    id: string,
    input: ValidatedInput,
    preconditions: WritePreconditions,
    run: Run | undefined,
    present: Present<P> | undefined,
  ) => Promise<Changed>,
): (id: string, change: Change, run?: Run) => Promise<Changed> {
  const attempt = async (id: string, change: Change, run: Run | undefined): Promise<Changed | undefined> => {
    const { preconditions = NO_PRECONDITIONS, next } = change;
    if (!change.isRead) {
      const outcome = await write(id, await next(undefined), preconditions, run, undefined);
      const isOvertaken = isFailed(outcome) && admitsRecord(preconditions, outcome.current);
      return isOvertaken ? undefined : outcome;
    }
    const stored = await read(id, run);
    if (typeof stored === 'string') return stored;
    if (!admitsRecord(preconditions, stored)) return { current: stored };
    return withValues(stored, run, async (record) => {
      const present = { stored, record };
      const outcome = await write(id, await next(present), onlyThis(stored), run, present);
      return isFailed(outcome) ? undefined : outcome;
    });
  };
  return (id, change, run) => {
    const work = () => inAttempts(() => attempt(id, change, run));
    // A transaction does not wait: those before it may be waiting for its connection or its locks.
    return change.isRead && !run ? inTurn(id, work) : work();
  };
}

const isFailed = (outcome: Changed): outcome is PreconditionFailed =>
  typeof outcome !== 'string' && !isStored(outcome);

/** Whether a record fulfils the preconditions of a write. */
export const admitsRecord = (preconditions: WritePreconditions, record: StoredRecord): boolean =>
  admits(preconditions, record.version, () => modifiedAt(record));

/** Uses the members of a record while their bytes count as values in memory. */
async function withValues<T>(
  { doc }: StoredRecord,
  run: Run | undefined,
  use: (record: JsonObject) => Promise<T>,
): Promise<T> {
  if (run) {
    // Many records may be changed at once.
    const turned = turn();
    if (turned) await turned;
    return use(JSON.parse(doc) as JsonObject);
  }
  const admitted = parseLimit.enter(doc.length);
  if (admitted) await admitted;
  try {
    return await ofDocument(doc, use);
  } finally {
    parseLimit.leave(doc.length);
  }
}

/** Callers that may wait for one record; one more is a 503. */
const MAX_WAITING = 1000;

/** Changes of records in this process, by their ids. */
const turns = new Map<string, WorkSlots>();

/** Changes of one record run one after the other in this process, so that only other processes can interfere. */
async function inTurn<T>(id: string, work: () => Promise<T>): Promise<T> {
  const slots = turns.get(id) ?? new WorkSlots(1, MAX_WAITING);
  turns.set(id, slots);
  const running = slots.run(work);
  if (!running) throw beyond('record');
  return running.finally(() => slots.isIdle && turns.delete(id));
}
