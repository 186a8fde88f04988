import { documentHead } from '../../collection/document.js';
import { numberMembers } from '../../collection/numbers.js';
import type { Resource } from '../../collection/resource.js';
import type { Origin, ValidatedInput } from '../../collection/validated-input.js';
import { invalid } from '../../errors/input-errors.js';
import { type Failure, Problem } from '../../errors/problem.js';
import { escapeToken, isObject, type Json, type JsonObject, member, setMember } from '../../json.js';
import { turn } from '../../limits/turn.js';
import type { Chunk } from './chunks.js';
import { type Columns, csvRecord } from './csv-record.js';
import type { Followed } from './follow-references.js';
import { isMissing } from './import-numbers.js';
import type { Draft, Refuse, Row } from './import-row.js';
import { readRecord, withNames } from './read-record.js';
import { isExported, newIdentity, retainedIdentity, timeOf } from './record-identity.js';
import { LEGACY_ID, oldIdField } from './reference-names.js';
import type { ScannedRecord } from './scan.js';

/** The properties that the records of one collection have in common. */
export interface RecordRules {
  readonly resource: Resource;
  readonly check: (input: Json | undefined, origin: Origin) => ValidatedInput;
  /** Where the records come from. Those of a request have no old ids. */
  readonly origin: Origin;
  readonly rename: ReadonlyMap<string, string>;
  readonly maxBytes: number;
  /** Whether records keep their ids. */
  readonly retainsIds: boolean;
  /** The columns of CSV; undefined: the records are JSON. */
  readonly columns: Columns | undefined;
}

/** Reads the records of a chunk; `refuse` is called for each that cannot be read. */
export async function readDrafts(chunk: Chunk, rules: RecordRules, refuse: Refuse): Promise<Draft[]> {
  const { origin, rename, maxBytes, columns, retainsIds } = rules;
  const drafts: Draft[] = [];
  for (const scanned of chunk.records) {
    await turn();
    const { place } = scanned;
    let given: Json | undefined;
    try {
      given = recordIn(chunk, scanned, columns, rename, maxBytes);
      if (given === undefined) continue;
      const { id, ms, version, updatedAt, isRetained } =
        retainsIds && isObject(given) ? retainedIdentity(given) : newIdentity();
      const { record, oldId, storesOldId } =
        origin === 'request' ? { record: given, ...NO_OLD_ID } : withOldId(given, rules);
      // Spread objects would take a fifth of the time of an import.
      drafts.push({ place, given, record, oldId, storesOldId, id, ms, version, updatedAt, isRetained });
    } catch (error) {
      refuse({ place, ...(given !== undefined && { given }) }, error);
    }
  }
  return drafts;
}

/** A record of a chunk with new names of its fields; undefined: a row without a value. Throws invalidBody and payloadTooLarge. */
export function recordIn(
  { bytes, offset }: Chunk,
  record: ScannedRecord,
  columns: Columns | undefined,
  rename: ReadonlyMap<string, string>,
  maxBytes: number,
): Json | undefined {
  const { start, end, row } = record;
  const read =
    columns && row
      ? csvRecord(bytes, record, row, columns, maxBytes, offset)
      : readRecord(bytes.subarray(start, end), maxBytes, offset + start);
  return read === undefined ? undefined : withNames(read, rename);
}

const NO_OLD_ID = { oldId: undefined, storesOldId: false };

/** A record with its old id in the field for it, if the collection declares one, and without the field that had it. */
function withOldId(
  given: Json,
  { resource, retainsIds }: RecordRules,
): Pick<Draft, 'record' | 'oldId' | 'storesOldId'> {
  if (!isObject(given)) return { record: given, ...NO_OLD_ID };
  const field = retainsIds ? 'id' : oldIdField(Object.keys(given), resource);
  const id = field === undefined ? undefined : member(given, field);
  const isStored = !retainsIds && Object.hasOwn(resource.schema.properties, LEGACY_ID);
  const isAdded = isStored && id !== undefined && !Object.hasOwn(given, LEGACY_ID) && !isExported(given);
  const isMoved = field !== undefined && field !== 'id';
  const record: JsonObject = isAdded || isMoved ? { ...given } : given;
  if (isMoved) delete record[field];
  if (isAdded) setMember(record, LEGACY_ID, id);
  const storesOldId = isStored && resource.columns.has(LEGACY_ID) && member(record, LEGACY_ID) === id;
  const isId = typeof id === 'string' || typeof id === 'number';
  return { record, oldId: isId ? String(id) : undefined, storesOldId };
}

/** Validates drafts, with their references by `follow`; `refuse` is called for each invalid one, with all that is wrong with it. */
export async function checkDrafts(
  drafts: readonly Draft[],
  { check, resource, origin }: RecordRules,
  refuse: Refuse,
  follow: (record: Json) => Followed = (record) => ({ record, expected: NONE, faults: [] }),
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const draft of drafts) {
    await turn();
    const { place, given, oldId, storesOldId, id, ms, version, updatedAt, isRetained } = draft;
    const { record, expected, faults } = follow(draft.record);
    try {
      const input = check(record, origin);
      const members = numberMembers(resource).filter((_, at) => isMissing(resource.numbers[at]!, input));
      const head = documentHead(id, input.fields, timeOf(ms), updatedAt, members);
      const columns = [...input.columns];
      if (faults.length === 0)
        rows.push({
          place,
          given,
          oldId,
          storesOldId,
          id,
          ms,
          version,
          updatedAt,
          isRetained,
          input,
          head,
          columns,
          expected,
        });
    } catch (error) {
      refuse(draft, withoutFields(error, new Set(faults.map(({ field }) => field))));
    }
    for (const { error } of faults) refuse(draft, error);
  }
  return rows;
}

const NONE: ReadonlySet<string> = new Set();

/** The failures that do not concern these fields, which have a fault of their own. */
function withoutFields(error: unknown, fields: ReadonlySet<string>): unknown {
  if (fields.size === 0 || !(error instanceof Problem) || error.code !== 'VALIDATION_ERROR') return error;
  const failures = error.more.details as readonly Failure[];
  const paths = new Set([...fields].map((field) => `/${escapeToken(field)}`));
  return invalid(failures.filter(({ path }) => !paths.has(path)));
}
