import { isUtf8 } from 'node:buffer';
import { documentHead } from '../../collection/document.js';
import { numberMembers } from '../../collection/numbers.js';
import type { Resource } from '../../collection/resource.js';
import type { Origin, ValidatedInput } from '../../collection/validated-input.js';
import { invalidBody, payloadTooLarge } from '../../errors/input-errors.js';
import { notUtf8 } from '../../formats/text-encoding.js';
import { requireJsonBounds, requireStorable } from '../../http/strict-json.js';
import { escapeToken, isObject, type Json, type JsonObject, member, setMember } from '../../json.js';
import { turn } from '../../limits/turn.js';
import type { Chunk } from './chunks.js';
import { requireExact } from './csv-cell.js';
import { type Columns, csvRecord } from './csv-record.js';
import type { Followed } from './follow-references.js';
import { adapt, removeNulls } from './foreign-values.js';
import { isMissing } from './import-numbers.js';
import type { Draft, Refuse, Row } from './import-row.js';
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
  /** Whether the text NULL stands for no value in all fields. */
  readonly hasNulls?: boolean;
  /** The fields without texts, in which values of another database may have another form, and the formats of times. */
  readonly adapted?: ReadonlyMap<string, string | undefined>;
}

/** The rules by which the bytes of a record are read. */
export type ReadRules = Pick<RecordRules, 'columns' | 'rename' | 'maxBytes' | 'hasNulls' | 'adapted'>;

/** Reads the records of a chunk; `refuse` is called for each that cannot be read. */
export async function readDrafts(chunk: Chunk, rules: RecordRules, refuse: Refuse): Promise<Draft[]> {
  const drafts: Draft[] = [];
  for (const scanned of chunk.records) {
    await turn();
    const { place } = scanned;
    let given: Json | undefined;
    try {
      given = recordIn(chunk, scanned, rules);
      if (given === undefined) continue;
      const { id, ms, version, updatedAt, isRetained } =
        rules.retainsIds && isObject(given) ? retainedIdentity(given) : newIdentity();
      const { oldId, record } = withOldId(given, rules);
      // Spread objects would take a fifth of the time of an import.
      drafts.push({ place, given, record, oldId, id, ms, version, updatedAt, isRetained });
    } catch (error) {
      refuse({ place, ...(given !== undefined && { given }) }, error);
    }
  }
  return drafts;
}

/** A record of a chunk with new names of its fields; undefined: a row without a value. Throws invalidBody and payloadTooLarge. */
export function recordIn(
  { bytes: all, offset }: Chunk,
  { start, end, place, row }: ScannedRecord,
  { columns, rename, maxBytes, hasNulls, adapted }: ReadRules,
): Json | undefined {
  const bytes = all.subarray(start, end);
  const fault = columns && row?.fault;
  if (fault) {
    const where = fault.breaks === 0 ? '' : ` (line ${place + fault.breaks})`;
    throw invalidBody(`${fault.reason}${where}`, 'quotes');
  }
  if (!columns) requireJsonBounds(bytes);
  if (bytes.length > maxBytes) throw payloadTooLarge(maxBytes);
  if (!isUtf8(bytes)) throw invalidBody(notUtf8(bytes, offset + start), 'encoding');
  const read = columns
    ? csvRecord(all, row!, bytes.length, columns, maxBytes)
    : parse(bytes.toString('utf8'));
  if (read === undefined) return undefined;
  const record = withNames(read, rename);
  if (hasNulls) removeNulls(record);
  if (adapted) adapt(record, adapted);
  return record;
}

/** Throws invalidBody. */
function parse(text: string): Json {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch {
    throw invalidBody('is not valid JSON', 'json');
  }
  requireExact(text);
  // Only an escape can be a character that is not storable.
  if (text.includes('\\u')) requireStorable(value);
  return value;
}

/**
 * The id that a record has in the file, as text, and the record with it in the field for old ids, if the collection declares one, and
 * without the field that had it.
 */
export function withOldId(
  given: Json,
  { resource, retainsIds, origin }: RecordRules,
): { readonly oldId: string | undefined; readonly record: Json } {
  if (!isObject(given) || origin === 'request') return { oldId: undefined, record: given };
  const field = retainsIds ? 'id' : oldIdField(Object.keys(given), resource);
  const id = field === undefined ? undefined : member(given, field);
  const oldId = typeof id === 'string' || typeof id === 'number' ? String(id) : undefined;
  if (id === undefined || retainsIds) return { oldId, record: given };
  const isStored = Object.hasOwn(resource.schema.properties, LEGACY_ID);
  const isAdded = isStored && !Object.hasOwn(given, LEGACY_ID) && !isExported(given);
  if (!isAdded && field === 'id') return { oldId, record: given };
  const record: JsonObject = { ...given };
  if (field !== 'id') delete record[field!];
  if (isAdded) setMember(record, LEGACY_ID, id);
  return { oldId, record };
}

/** Validates drafts, with their references by `follow`; `refuse` is called for each invalid one, with all that is wrong with it. */
export async function checkDrafts(
  drafts: readonly Draft[],
  { check, resource, origin }: RecordRules,
  refuse: Refuse,
  follow: (record: Json) => Followed = (record) => ({ record, errors: [] }),
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const draft of drafts) {
    await turn();
    const { record, errors } = follow(draft.record);
    try {
      const input = check(record, origin);
      const members = numberMembers(resource).filter((_, at) => isMissing(resource.numbers[at]!, input));
      const row = draft as Row;
      row.input = input;
      row.head = documentHead(row.id, input.fields, timeOf(row.ms), row.updatedAt, members);
      row.columns = [...input.columns];
      if (errors.length === 0) rows.push(row);
    } catch (error) {
      refuse(draft, error);
    }
    for (const error of errors) refuse(draft, error);
  }
  return rows;
}

/** A record with new names of its fields. Throws invalidBody if two have the same. */
function withNames(record: Json, rename: ReadonlyMap<string, string>): Json {
  if (rename.size === 0 || !isObject(record)) return record;
  const result: JsonObject = {};
  for (const key of Object.keys(record)) {
    const name = rename.get(key) ?? key;
    // One of two values would be lost.
    if (Object.hasOwn(result, name))
      throw invalidBody('two fields have this name after --rename', 'rename', `/${escapeToken(name)}`);
    setMember(result, name, record[key]!);
  }
  return result;
}
