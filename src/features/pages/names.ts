import { type Reference, type Resource, referredIds } from '../../collection/resource.js';
import type { ScopedCollection } from '../../feature.js';
import { cut } from '../../formats/html.js';
import { type JsonObject, member, setMember } from '../../json.js';
import { ofDocument } from '../../limits/turn.js';
import { isByRecord, readsAll } from '../../policy/policy.js';
import { type Caller, readAs } from './inner-read.js';
import { capitalized, dayText, MAX_ITEMS, MAX_NAME_CHARACTERS } from './labels.js';
import { collectionOf, ownersOf, type Site } from './site.js';
import { MAX_STEPS, nameFields, titleFields } from './title.js';

/** Names that are read together, and names of a page: further records are shown by their ids. */
const PART = 100;
const MAX_SHOWN = 3000;

/** The names of the records to which others refer, as the caller of a page may read them. */
export class Names {
  readonly #names = new Map<string, string>();
  readonly #entered = new Set<string>();

  constructor(
    readonly site: Site,
    readonly caller: Caller,
    readonly most = MAX_SHOWN,
  ) {}

  /** Reads the names of the records to which these refer, by default of as many items of an array as pages show. */
  readFor({ references }: Resource, records: readonly JsonObject[], maxItems = MAX_ITEMS): Promise<void> {
    return this.#readReferred(references, records, maxItems);
  }

  /** Reads the names of which the titles of some records consist. */
  readTitles(resource: Resource, records: readonly JsonObject[], steps = 0): Promise<void> {
    const fields = titleFields(resource);
    const followed = resource.references.filter(({ field }) => fields.includes(field));
    return this.#readReferred(followed, records, 1, steps);
  }

  async #readReferred(
    references: readonly Reference[],
    records: readonly JsonObject[],
    maxItems: number,
    steps = 0,
  ): Promise<void> {
    const wanted = new Map<string, Set<string>>();
    for (const reference of references) {
      const ids = wanted.get(reference.to) ?? new Set();
      for (const record of records)
        for (const { id } of referredIds(record, reference).slice(0, maxItems)) ids.add(id);
      wanted.set(reference.to, ids);
    }
    await Promise.all([...wanted].map(([to, ids]) => this.read(to, ids, steps)));
  }

  /** Reads the names of some records of a collection. */
  async read(collection: string, ids: Iterable<string>, steps = 0): Promise<void> {
    const scoped = collectionOf(this.site, collection);
    const unknown = [...ids].filter((id) => ID.test(id) && !this.#names.has(id));
    if (!scoped || titleFields(scoped.resource).length === 0) return;
    for (let at = 0; at < unknown.length && this.#names.size < this.most; at += PART)
      await this.#readPart(scoped, unknown.slice(at, at + PART), steps);
  }

  async #readPart(scoped: ScopedCollection, ids: readonly string[], steps: number): Promise<void> {
    const { resource } = scoped;
    const fields = titleFields(resource);
    if (!resource.references.some(({ field }) => fields.includes(field)))
      return void (await this.#readEach(scoped, ids, (record) => this.#name(resource, record)));
    const records = await this.#readEach(scoped, ids, (record) => textsOf(record, ['id', ...fields]));
    if (steps < MAX_STEPS) await this.readTitles(resource, records, steps + 1);
    for (const record of records) this.#name(resource, record);
  }

  #name(resource: Resource, record: JsonObject): void {
    const id = String(record.id);
    this.#names.set(id, this.shortTitleOf(resource, record));
    if (this.entryOf(resource, record) !== undefined) this.#entered.add(id);
  }

  /**
   * Reads some records, and returns what `use` makes of each as soon as it is read: all together may be too large for memory. Pages of
   * all callers share statements: with one of its own, a list of records costs twice as much.
   */
  async #readEach<T>(
    scoped: ScopedCollection,
    ids: readonly string[],
    use: (record: JsonObject) => T,
  ): Promise<readonly T[]> {
    const { caller } = this;
    const { resource } = scoped;
    // Where records decide, a read finds only those of the caller.
    if (!isByRecord(resource) && !readsAll(resource, caller.principal)) return [];
    const collection = scoped.as(caller);
    const read = async (id: string): Promise<T[]> => {
      const found = await collection.get(id, caller.run);
      return typeof found === 'string' ? [] : [await ofDocument(found.doc, use)];
    };
    return (await Promise.all(ids.map(read))).flat();
  }

  /**
   * The text by which people know a record, of the names that are read; or its word and the end of its id, which differs also
   * among records of one moment.
   */
  titleOf(resource: Resource, record: JsonObject): string {
    return (
      this.#titleOf(resource, record) ?? `${capitalized(resource.singular)} …${String(record.id).slice(-8)}`
    );
  }

  #titleOf(resource: Resource, record: JsonObject): string | undefined {
    const { display, singular, references } = resource;
    const fields = titleFields(resource);
    const isReference = (name: string) => references.some(({ field }) => field === name);
    const texts = fields.map((field): string | undefined => {
      const value = member(record, field);
      if (typeof value !== 'string' || value.trim() === '') return undefined;
      if (isReference(field)) return this.of(value);
      return field === display ? value : dayText(value);
    });
    const title = texts.filter((text) => text !== undefined).join(', ');
    if (title === '') return undefined;
    // Two references name a record, one says only what the record belongs to.
    return display !== undefined || (fields.every(isReference) && fields.length > 1)
      ? title
      : `${capitalized(singular)} of ${title}`;
  }

  /** The title of a record where a page may have many: a long one is cut. */
  shortTitleOf(resource: Resource, record: JsonObject): string {
    return cut(this.titleOf(resource, record), MAX_NAME_CHARACTERS);
  }

  /** The title by which a form finds a record again; undefined: it has none. */
  entryOf(resource: Resource, record: JsonObject): string | undefined {
    const title = this.#titleOf(resource, record);
    return title !== undefined && isEntered(title) ? title : undefined;
  }

  /** The name of a record; undefined: the caller may not read it, or it has none. */
  of(id: string): string | undefined {
    return this.#names.get(id);
  }

  /** The name of a record by which a form finds it again; undefined: only its id is certain. */
  enteredOf(id: string): string | undefined {
    return this.#entered.has(id) ? this.#names.get(id) : undefined;
  }
}

/** The members of a record that are texts, of some names. */
function textsOf(record: JsonObject, names: readonly string[]): JsonObject {
  const texts: JsonObject = {};
  for (const name of names) {
    const value = member(record, name);
    if (typeof value === 'string') setMember(texts, name, value);
  }
  return texts;
}

/** The name of the caller; undefined: the caller is no user, or may not read its own record. */
export async function ownName(site: Site, caller: Caller): Promise<string | undefined> {
  const { subject, scheme } = caller.principal;
  const owner = ownersOf(site);
  if (!owner || (scheme !== 'session' && scheme !== 'basic')) return undefined;
  const record = await readAs(site, caller, `/${owner.name}/:id`, nameFields(owner), subject);
  return record && new Names(site, caller).shortTitleOf(owner, record);
}

/** Whether a form finds a record by this name. One that looks like an id would mean another record. */
const isEntered = (name: string): boolean =>
  name.length <= MAX_NAME_CHARACTERS && name === name.trim() && !/[\r\n]/.test(name) && !ID.test(name);

/** An id, of which a form knows no name. */
export const ID = /^[\da-f]{8}-([\da-f]{4}-){3}[\da-f]{12}$/i;
