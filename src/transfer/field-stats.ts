import { isObject, type Json, type JsonObject } from '../json.js';
import { isEmail } from '../validation/email.js';

/** What the values of a field have in common. */
export interface FieldStats {
  /** Records in which it has a value. */
  present: number;
  readonly types: Set<string>;
  /** Types of the elements of arrays. */
  readonly elements: Set<string>;
  maxBytes: number;
  /** The formats that all texts so far have; undefined: there was none. */
  formats: readonly string[] | undefined;
}

/** Fields of a collection that are looked at. The others are stored and not declared. */
const MAX_FIELDS = 500;

/** Looks at records, one after the other, in constant memory. */
export class CollectionStats {
  records = 0;
  readonly fields = new Map<string, FieldStats>();

  add(record: JsonObject): void {
    this.records++;
    for (const [name, value] of Object.entries(record)) {
      if (value === null) continue;
      let stats = this.fields.get(name);
      if (!stats) {
        if (this.fields.size === MAX_FIELDS) continue;
        stats = { present: 0, types: new Set(), elements: new Set(), maxBytes: 0, formats: undefined };
        this.fields.set(name, stats);
      }
      addValue(stats, value);
    }
  }
}

function addValue(stats: FieldStats, value: Json): void {
  stats.present++;
  stats.types.add(typeOf(value));
  if (Array.isArray(value)) for (const element of value) stats.elements.add(typeOf(element));
  if (typeof value !== 'string') return;
  stats.maxBytes = Math.max(stats.maxBytes, Buffer.byteLength(value));
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
