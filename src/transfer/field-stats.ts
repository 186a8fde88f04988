import { isObject, type Json, type JsonObject } from '../json.js';
import { isEmail } from '../validation/email.js';
import { isNamedAsId } from './record-id.js';

/** What the values of a field have in common. */
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
  /** The first values, if the field is named as the ids of the records and no value is repeated. */
  ids: Set<Json> | undefined;
}

/** Fields of a collection that are looked at. The others are stored and not declared. */
const MAX_FIELDS = 500;

/** Values that are compared to find out whether the field holds ids. */
const MAX_IDS = 100_000;

/** Looks at records of the collection, one after the other, in constant memory. */
export class CollectionStats {
  records = 0;
  readonly fields = new Map<string, FieldStats>();

  constructor(readonly collection: string) {}

  /** The field that holds the ids of the records. */
  get idField(): string | undefined {
    if (this.fields.has('id')) return 'id';
    for (const [name, { ids, present }] of this.fields) if (ids && present === this.records) return name;
    return undefined;
  }

  add(record: JsonObject): void {
    this.records++;
    for (const [name, value] of Object.entries(record)) {
      if (value === null) continue;
      let stats = this.fields.get(name);
      if (!stats) {
        if (this.fields.size === MAX_FIELDS) continue;
        const ids = isNamedAsId(name, this.collection) ? new Set<Json>() : undefined;
        stats = { present: 0, types: new Set(), elements: new Set(), maxBytes: 0, formats: undefined, ids };
        this.fields.set(name, stats);
      }
      addValue(stats, value);
    }
  }
}

function addValue(stats: FieldStats, value: Json): void {
  stats.present++;
  if (stats.ids?.has(value)) stats.ids = undefined;
  else if (stats.ids && stats.ids.size < MAX_IDS) stats.ids.add(value);
  stats.types.add(typeOf(value));
  for (const each of Array.isArray(value) ? value : [value])
    if (typeof each === 'string') stats.maxBytes = Math.max(stats.maxBytes, Buffer.byteLength(each));
  if (Array.isArray(value)) for (const element of value) stats.elements.add(typeOf(element));
  if (typeof value !== 'string') return;
  const formats = stats.formats ?? Object.keys(FORMATS);
  stats.formats = formats.filter((format) => FORMATS[format]!(value));
}

export function typeOf(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (isObject(value)) return 'object';
  return typeof value === 'number' && Number.isInteger(value) ? 'integer' : typeof value;
}

const isDate = (text: string) =>
  /^\d{4}-\d\d-\d\d$/.test(text) &&
  !Number.isNaN(Date.parse(text)) &&
  new Date(text).toISOString().startsWith(text);

const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  date: isDate,
  'date-time': (text) =>
    /^\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/.test(
      text,
    ) && isDate(text.slice(0, 10)),
  email: isEmail,
};
