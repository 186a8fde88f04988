import { type Resource, referredIds } from '../../collection/resource.js';
import { type JsonObject, member } from '../../json.js';
import { ofDocument } from '../../limits/turn.js';
import { isByRecord, readsAll } from '../../policy/policy.js';
import type { Caller } from './inner-read.js';
import { capitalized, cellOf, MAX_ITEMS, MAX_NAME_CHARACTERS } from './labels.js';
import { collectionOf, type Site } from './site.js';
import { MAX_STEPS, titleFields } from './title.js';

/** Names that are read together, and names of a page: further records are shown by their ids. */
const PART = 100;
const MAX_SHOWN = 3000;

/** The names of the records to which others refer, as the caller of a page may read them. */
export class Names {
  readonly #names = new Map<string, string>();

  constructor(
    readonly site: Site,
    readonly caller: Caller,
  ) {}

  /** Reads the names of the records to which these refer, by default of as many items of an array as pages show. */
  async readFor(
    { references }: Pick<Resource, 'references'>,
    records: readonly JsonObject[],
    maxItems = MAX_ITEMS,
    steps = 0,
  ): Promise<void> {
    const read = (to: string) => {
      const own = references.filter((each) => each.to === to);
      const found = records.flatMap((record) =>
        own.flatMap((each) => referredIds(record, each).slice(0, maxItems)),
      );
      const ids = found.map(({ id }) => id);
      return this.read(to, ids, steps);
    };
    await Promise.all([...new Set(references.map(({ to }) => to))].map(read));
  }

  /** Reads the names of some records of a collection. Where access rules decide, a read finds only those of the caller. */
  async read(name: string, ids: Iterable<string>, steps = 0): Promise<void> {
    const scoped = collectionOf(this.site, name);
    if (!scoped || !(isByRecord(scoped.resource) || readsAll(scoped.resource, this.caller.principal))) return;
    const { resource } = scoped;
    const fields = titleFields(resource);
    if (fields.length === 0) return;
    // Pages of all callers share statements: with one of its own, a list of records costs twice as much.
    const collection = scoped.as(this.caller);
    // A document may be too large for memory together with others.
    const partsOf = (record: JsonObject): JsonObject =>
      Object.fromEntries(
        ['id', ...fields].map((name) => [name, cellOf(member(record, name), MAX_NAME_CHARACTERS)]),
      );
    const readOne = async (id: string): Promise<JsonObject[]> => {
      const found = await collection.get(id);
      return typeof found === 'string' ? [] : [await ofDocument(found.doc, partsOf)];
    };
    const unknown = [...new Set(ids)].filter((id) => ID.test(id) && !this.#names.has(id));
    for (let at = 0; at < unknown.length && this.#names.size < MAX_SHOWN; at += PART) {
      const records = (await Promise.all(unknown.slice(at, at + PART).map(readOne))).flat();
      if (steps < MAX_STEPS) await this.readFor(resource, records, 1, steps + 1);
      for (const record of records) {
        const title = this.#titleOf(resource, record, MAX_NAME_CHARACTERS);
        if (title !== undefined) this.#names.set(String(record.id), title);
      }
    }
  }

  /**
   * The text by which people know a record, of the names that are read; or its word and the end of its id, which differs also
   * among records of one moment. A long text is cut.
   */
  titleOf(resource: Resource, record: JsonObject, max = MAX_NAME_CHARACTERS): string {
    const word = capitalized(resource.singular);
    return this.#titleOf(resource, record, max) ?? `${word} …${String(record.id).slice(-8)}`;
  }

  #titleOf(resource: Resource, record: JsonObject, max: number): string | undefined {
    const { display, singular, references } = resource;
    const fields = titleFields(resource);
    const texts = fields.flatMap((field) => {
      const value = member(record, field);
      if (typeof value !== 'string' || value.trim() === '') return [];
      return references.some((each) => each.field === field) ? (this.of(value) ?? []) : cellOf(value, max);
    });
    if (texts.length === 0) return undefined;
    // Two references name a record, one says only what the record belongs to.
    const isWhole = display !== undefined || fields.length > 1;
    return isWhole ? texts.join(', ') : `${capitalized(singular)} of ${texts[0]}`;
  }

  /** The name of a record; undefined: the caller may not read it, or it has none. */
  of(id: string): string | undefined {
    return this.#names.get(id);
  }
}

/** Whether a form finds a record by this name. One that looks like an id would mean another record. */
export const isEntered = (name: string): boolean =>
  name.length <= MAX_NAME_CHARACTERS && name === name.trim() && !/[\r\n]/.test(name) && !ID.test(name);

/** An id, of which a form knows no name. */
export const ID = /^[\da-f]{8}-([\da-f]{4}-){3}[\da-f]{12}$/i;
