import type { Resource } from '../../collection/resource.js';
import { compileInput } from '../../collection/validated-input.js';
import type { DeclaredSchema } from '../../declarations/declaration.js';
import { Problem } from '../../errors/problem.js';
import type { Json, JsonObject } from '../../json.js';
import { isEmail, TIME_FORMATS } from '../../validation/times.js';
import { timeAs } from './foreign-values.js';
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

  add(value: Json): void {
    this.present++;
    this.types.add(typeOf(value));
    if (Array.isArray(value)) for (const element of value) this.elements.add(typeOf(element));
    for (const each of [value].flat())
      if (typeof each === 'string') this.maxBytes = Math.max(this.maxBytes, Buffer.byteLength(each));
    this.formats = this.formats.filter((format) => typeof value === 'string' && FORMATS[format]!(value));
    const { values } = this;
    if (!values) return;
    if ((typeof value !== 'string' && typeof value !== 'number') || values.size === MAX_VALUES)
      this.values = undefined;
    else if (values.size === values.add(String(value)).size) this.isUnique = false;
  }
}

const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  date: (text) => TIME_FORMATS.date!(timeAs('date', text)),
  'date-time': (text) => TIME_FORMATS['date-time']!(timeAs('date-time', text)),
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
  /** The name of the collection, which may be another one than in the file. */
  name: string;
  /** The content of the new declaration; undefined: the collection is declared already. */
  schema: DeclaredSchema | undefined;
  readonly fields = new Map<string, FieldStats>();
  /** Why the collection of the service with this name refuses a record; undefined: it accepts all. */
  fault: string | undefined;
  readonly #check: ReturnType<typeof compileInput> | undefined;

  /** `base`: the collection of the service to which the records may belong. */
  constructor(
    readonly source: Source,
    readonly base: Resource | undefined,
  ) {
    this.name = source.collection;
    this.#check = base && compileInput(base);
  }

  /** The field that holds the ids of the records. */
  get idField(): string | undefined {
    const isId = ([name, { values, isUnique, present }]: [string, FieldStats]) =>
      values && isUnique && present === this.records && isNamedAsId(name, this.source.collection);
    return this.fields.has('id') ? 'id' : [...this.fields].find(isId)?.[0];
  }

  add(record: JsonObject): void {
    this.records++;
    this.isExport &&= isExported(record);
    try {
      this.#check?.(record, 'import');
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      this.fault ??= `${this.name} refuses a record: ${error.message}`;
    }
    for (const [name, value] of Object.entries(record)) {
      if (value === null) continue;
      let stats = this.fields.get(name);
      if (!stats) {
        if (this.fields.size === MAX_FIELDS || [...name].length > MAX_NAME || name === '__proto__') continue;
        const mayBeIds = stemOf(name) !== undefined || isNamedAsId(name, this.source.collection);
        stats = new FieldStats(mayBeIds ? new Set() : undefined);
        this.fields.set(name, stats);
      }
      stats.add(value);
    }
  }
}

function typeOf(value: Json): string {
  if (typeof value !== 'object') return Number.isInteger(value) ? 'integer' : typeof value;
  return value === null ? 'null' : Array.isArray(value) ? 'array' : 'object';
}
