import { setImmediate as nextTick } from 'node:timers/promises';
import type { ColumnValue } from '../collection/column.js';
import { documentHead } from '../collection/document.js';
import type { Resource } from '../collection/resource.js';
import type { ValidatedInput } from '../collection/validated-input.js';
import { isObject, type Json, type JsonObject, member, setMember } from '../json.js';
import { type Identity, nextIdentity } from '../uuid.js';
import type { Chunk } from './chunks.js';
import { copyText, escapeText } from './copy-text.js';
import { type Columns, csvRecord } from './csv-record.js';
import { readRecord, withNames } from './read-record.js';
import { LEGACY_ID, oldIdField } from './record-id.js';

/** A record that has been read, on its way into the database. */
export interface Draft {
  readonly place: number;
  readonly identity: Identity;
  /** The id in the file, as JSON text. */
  readonly oldId: string | undefined;
  record: Json;
  /** Whether it was refused before it was validated. */
  isRefused: boolean;
  /** Set when it is valid. */
  row: Row | undefined;
}

/** A valid record as it is stored. */
export interface Row {
  readonly id: string;
  /** Its line of COPY. */
  readonly text: string;
  readonly columns: readonly ColumnValue[];
  readonly input: ValidatedInput;
  passwordHash: string | undefined;
}

/** What the records of one collection have in common. */
export interface RecordRules {
  readonly resource: Resource;
  readonly check: (input: Json | undefined, origin: 'import') => ValidatedInput;
  readonly rename: ReadonlyMap<string, string>;
  readonly maxBytes: number;
  /** The columns of CSV; undefined: the records are JSON. */
  readonly columns: Columns | undefined;
}

/** Reads the records of a chunk; `refuse` is called for each that cannot be read. */
export async function readDrafts(
  chunk: Chunk,
  rules: RecordRules,
  refuse: (place: number, error: unknown) => void,
): Promise<Draft[]> {
  const { resource, rename, maxBytes, columns } = rules;
  const storesLegacyId = Object.hasOwn(resource.schema.properties, LEGACY_ID);
  const drafts: Draft[] = [];
  for (let at = 0; at < chunk.starts.length; at++) {
    if (at % RECORDS_AT_ONCE === 0) await nextTick();
    const place = chunk.places[at]!;
    try {
      const bytes = chunk.bytes.subarray(chunk.starts[at]!, chunk.ends[at]!);
      const given = columns ? csvRecord(bytes, columns, maxBytes) : readRecord(bytes, maxBytes);
      const record = withNames(given, rename);
      const id = isObject(record) ? takeOldId(record, resource) : undefined;
      if (storesLegacyId && id !== undefined && isObject(record) && !Object.hasOwn(record, LEGACY_ID))
        setMember(record, LEGACY_ID, id);
      const oldId = id === undefined ? undefined : JSON.stringify(id);
      drafts.push({ place, identity: nextIdentity(), oldId, record, isRefused: false, row: undefined });
    } catch (error) {
      refuse(place, error);
    }
  }
  return drafts;
}

/** Returns the old id of a record, and removes it unless it is ignored anyway. */
function takeOldId(record: JsonObject, resource: Resource): Json | undefined {
  const field = oldIdField(Object.keys(record), resource);
  const id = field === undefined ? undefined : member(record, field);
  if (field !== undefined && field !== 'id') delete record[field];
  return id;
}

/** Records that are read in one tick: meanwhile the batch before waits for the next step of its transaction. */
const RECORDS_AT_ONCE = 128;

let lastMs = 0;
let lastTime = '';

/** Validates drafts; `refuse` is called for each that is invalid. */
export async function checkDrafts(
  drafts: readonly Draft[],
  { check }: RecordRules,
  refuse: (place: number, error: unknown) => void,
): Promise<void> {
  for (const [at, draft] of drafts.entries()) {
    if (at % RECORDS_AT_ONCE === 0) await nextTick();
    if (draft.isRefused) continue;
    try {
      const input = check(draft.record, 'import');
      const { id, ms } = draft.identity;
      if (ms !== lastMs) [lastMs, lastTime] = [ms, new Date(ms).toISOString()];
      const doc = `${documentHead(id, input.fields, lastTime, lastTime)}1}`;
      let text = `${id}\t${lastTime}\t${escapeText(doc)}`;
      for (const value of input.columns) text += `\t${copyText(value)}`;
      draft.row = { id, text: `${text}\n`, columns: input.columns, input, passwordHash: undefined };
      // What follows needs the row alone.
      draft.record = null;
    } catch (error) {
      refuse(draft.place, error);
    }
  }
}
