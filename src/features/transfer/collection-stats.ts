import type { Resource } from '../../collection/resource.js';
import { compileInput } from '../../collection/validated-input.js';
import { type Failure, Problem } from '../../errors/problem.js';
import type { Json, JsonObject } from '../../json.js';
import { isEmail, TIME_FORMATS } from '../../validation/times.js';
import { NO_ID } from './follow-references.js';
import { isExported } from './record-identity.js';
import { isNamedAsId, stemOf } from './reference-names.js';
import type { Source } from './sources.js';

/** The properties that the values of a field have in common. */
export class FieldStats {
  /** Records in which the field has a value. */
  present = 0;
  readonly types = new Set<string>();
  /** Types of the elements of arrays. */
  readonly elements = new Set<string>();
  /** The length of the longest text, also in arrays. */
  maxBytes = 0;
  /** The formats that all values have. */
  formats: readonly string[] = Object.keys(FORMATS);
  /** Whether no value was repeated. */
  isUnique = true;

  /** `values`: those of a field that may hold ids or refer to them; undefined: it does not, or has too many. */
  constructor(public values: Set<string> | undefined) {}
}

const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  date: TIME_FORMATS.date!,
  'date-time': TIME_FORMATS['date-time']!,
  email: isEmail,
};

/** Fields that are declared, and the characters of their names. Others are stored as they are. */
const [MAX_FIELDS, MAX_NAME] = [200, 100];
/** Values of a field that memory has room for. */
const MAX_VALUES = 1_000_000;

/** Looks at the records of a source, one after the other, in constant memory. */
export class CollectionStats {
  records = 0;
  /** Whether all records are from an export, so that they keep their ids. */
  isExport = true;
  /** Why the collection of the service refuses a record; undefined: it accepts all. */
  fault: string | undefined;
  /** The name of the collection, and why it is another one than in the file. */
  name: { readonly text: string; readonly reason: string };
  readonly fields = new Map<string, FieldStats>();
  readonly #faultIn: (record: JsonObject) => string | undefined;

  /** `builtIn`: the collection of the service that has the name of the source. */
  constructor(
    readonly source: Source,
    readonly builtIn: Resource | undefined,
  ) {
    this.name = { text: source.collection, reason: '' };
    this.#faultIn = builtIn ? faultsOfRecords(builtIn) : () => undefined;
  }

  /** The field that holds the ids of the records. */
  get idField(): string | undefined {
    const isId = ([name, { values, isUnique, present }]: [string, FieldStats]) =>
      values && isUnique && present === this.records && isNamedAsId(name, this.source.collection);
    return this.fields.has('id') ? 'id' : [...this.fields].find(isId)?.[0];
  }

  /** The ids of the records; undefined: they have none, or too many. */
  get ids(): ReadonlySet<string> | undefined {
    return this.fields.get(this.idField ?? '')?.values;
  }

  add(record: JsonObject): void {
    this.records++;
    this.isExport &&= isExported(record);
    this.fault ??= this.#faultIn(record);
    for (const [name, value] of Object.entries(record)) {
      if (value === null) continue;
      let stats = this.fields.get(name);
      if (!stats) {
        if (this.fields.size === MAX_FIELDS || [...name].length > MAX_NAME || name === '__proto__') continue;
        const mayBeIds = stemOf(name) !== undefined || isNamedAsId(name, this.source.collection);
        stats = new FieldStats(mayBeIds ? new Set() : undefined);
        this.fields.set(name, stats);
      }
      addValue(stats, value);
    }
  }
}

function addValue(stats: FieldStats, value: Json): void {
  const { types, elements, values } = stats;
  stats.present++;
  types.add(typeOf(value));
  if (Array.isArray(value)) for (const element of value) elements.add(typeOf(element));
  for (const each of [value].flat())
    if (typeof each === 'string') stats.maxBytes = Math.max(stats.maxBytes, Buffer.byteLength(each));
  stats.formats = stats.formats.filter((format) => typeof value === 'string' && FORMATS[format]!(value));
  if (!values) return;
  if ((typeof value !== 'string' && typeof value !== 'number') || values.size === MAX_VALUES)
    stats.values = undefined;
  else if (values.size === values.add(String(value)).size) stats.isUnique = false;
}

function typeOf(value: Json): string {
  if (value === null) return 'null';
  if (typeof value === 'object') return Array.isArray(value) ? 'array' : 'object';
  return Number.isInteger(value) ? 'integer' : typeof value;
}

/** Returns why a collection of the service refuses the next record; references are not followed. */
function faultsOfRecords(resource: Resource) {
  const { name, columns, references, unique } = resource;
  const check = compileInput(resource);
  const seen = new Set<string>();
  return (given: JsonObject): string | undefined => {
    const record = { ...given };
    for (const { field } of references) if ((record[field] ?? null) !== null) record[field] = NO_ID;
    try {
      const values = check(record, 'import').columns;
      for (const { fields } of unique) {
        const key = JSON.stringify(fields.map((field) => values[[...columns.keys()].indexOf(field)]));
        if (seen.size === MAX_VALUES || seen.size === seen.add(key).size)
          return `two records have the same ${fields.join(' and ')}`;
      }
      return undefined;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      const [failure] = (error.more.details ?? []) as readonly Failure[];
      return `${name} refuses a record: ${failure?.path ?? ''} ${failure?.message ?? error.message}`;
    }
  };
}

/** Whether all values are ids. */
export const areIds = (values: Iterable<string> | undefined, ids: ReadonlySet<string> | undefined): boolean =>
  values !== undefined && ids !== undefined && [...values].every((value) => ids.has(value));
