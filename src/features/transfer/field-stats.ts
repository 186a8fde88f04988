import { isObject, type Json, type JsonObject } from '../../json.js';
import { isEmail } from '../../validation/email.js';
import { TIME_FORMATS } from '../../validation/times.js';
import { isExported } from './record-identity.js';
import { isNamedAsId, stemOf } from './reference-names.js';

/** The properties that the values of a field have in common. */
export interface FieldStats {
  /** Records in which it has a value. */
  present: number;
  readonly types: Set<string>;
  /** Types of the elements of arrays. */
  readonly elements: Set<string>;
  /** The length of the longest text, also in arrays. */
  maxBytes: number;
  /** The formats that all texts so far have; undefined: there was none. */
  formats: readonly string[] | undefined;
  /** The values of a field that may hold ids or refer to them; undefined: it does not, or has too many. */
  values: Set<string> | undefined;
  /** Whether no value was repeated. */
  isUnique: boolean;
}

/** Fields of a collection that are looked at. The others are stored and not declared. */
const MAX_FIELDS = 500;

/** Values of a field that memory has room for. */
const MAX_VALUES = 1_000_000;

/** Looks at records of the collection, one after the other, in constant memory. */
export class CollectionStats {
  records = 0;
  /** Whether all records are those of an export, which keep their ids. */
  isExport = true;
  readonly fields = new Map<string, FieldStats>();

  /** `isText`: the values come from text, so that a column with a text has texts only. */
  constructor(
    readonly collection: string,
    readonly isText: boolean,
  ) {}

  /** The field that holds the ids of the records. */
  get idField(): string | undefined {
    if (this.fields.has('id')) return 'id';
    for (const [name, { values, isUnique, present }] of this.fields)
      if (values && isUnique && present === this.records && isNamedAsId(name, this.collection)) return name;
    return undefined;
  }

  add(record: JsonObject): void {
    this.records++;
    if (this.isExport && !isExported(record)) this.isExport = false;
    for (const [name, value] of Object.entries(record)) {
      if (value === null) continue;
      let stats = this.fields.get(name);
      if (!stats) {
        if (this.fields.size === MAX_FIELDS) continue;
        stats = newStats(stemOf(name) !== undefined || isNamedAsId(name, this.collection));
        this.fields.set(name, stats);
      }
      addValue(stats, value);
    }
  }
}

const newStats = (mayBeIds: boolean): FieldStats => ({
  present: 0,
  types: new Set(),
  elements: new Set(),
  maxBytes: 0,
  formats: undefined,
  values: mayBeIds ? new Set() : undefined,
  isUnique: true,
});

function addValue(stats: FieldStats, value: Json): void {
  stats.present++;
  if (stats.values) addId(stats, stats.values, value);
  stats.types.add(typeOf(value));
  for (const each of Array.isArray(value) ? value : [value])
    if (typeof each === 'string') stats.maxBytes = Math.max(stats.maxBytes, Buffer.byteLength(each));
  if (Array.isArray(value)) for (const element of value) stats.elements.add(typeOf(element));
  if (typeof value !== 'string') return;
  const formats = stats.formats ?? Object.keys(FORMATS);
  stats.formats = formats.filter((format) => FORMATS[format]!(value));
}

function addId(stats: FieldStats, values: Set<string>, value: Json): void {
  if (values.size === MAX_VALUES || (typeof value !== 'string' && typeof value !== 'number')) {
    stats.values = undefined;
    return;
  }
  if (values.has(String(value))) stats.isUnique = false;
  else values.add(String(value));
}

function typeOf(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (isObject(value)) return 'object';
  return typeof value === 'number' && Number.isInteger(value) ? 'integer' : typeof value;
}

const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  date: TIME_FORMATS.date!,
  'date-time': TIME_FORMATS['date-time']!,
  email: isEmail,
};
