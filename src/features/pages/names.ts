import { type Resource, referredIds } from '../../collection/resource.js';
import { type JsonObject, member } from '../../json.js';
import { conditionName } from '../../list/query-names.js';
import { type Caller, readListAs } from './inner-read.js';
import { MAX_ITEMS, MAX_NAME_CHARACTERS, nameFields, shortTitleOf } from './labels.js';
import type { Site } from './site.js';

/** Records of a collection whose names one request reads. */
const MAX_NAMES = 100;

/** The names of the records to which others refer, as the caller of a page may read them: one list for each collection. */
export class Names {
  readonly #names = new Map<string, string>();
  readonly #entered = new Set<string>();

  constructor(
    readonly site: Site,
    readonly caller: Caller,
  ) {}

  /** Reads the names of the records to which these refer, by default of as many items of an array as pages show. */
  async readFor(
    { references }: Resource,
    records: readonly JsonObject[],
    maxItems = MAX_ITEMS,
  ): Promise<void> {
    const wanted = new Map<string, Set<string>>();
    for (const reference of references) {
      const ids = wanted.get(reference.to) ?? new Set();
      for (const record of records)
        for (const { id } of referredIds(record, reference).slice(0, maxItems)) ids.add(id);
      wanted.set(reference.to, ids);
    }
    await Promise.all([...wanted].map(([to, ids]) => this.read(to, ids)));
  }

  /** Reads the names of some records of a collection. */
  async read(collection: string, ids: Iterable<string>): Promise<void> {
    const resource = this.site.collections.find((each) => each.resource.name === collection)?.resource;
    const unknown = [...ids].filter((id) => ID.test(id) && !this.#names.has(id));
    if (resource?.display === undefined) return;
    for (let at = 0; at < unknown.length; at += MAX_NAMES)
      await this.#readPart(resource, unknown.slice(at, at + MAX_NAMES));
  }

  async #readPart(resource: Resource, ids: readonly string[]): Promise<void> {
    const found = await readListAs(
      this.site,
      this.caller,
      { template: `/${resource.name}` },
      {
        [conditionName('id', 'in')]: ids.join(','),
        ...{ ...nameFields(resource), limit: String(MAX_NAMES), count: 'none' },
      },
    );
    for (const record of found?.data ?? []) {
      const id = String(record.id);
      const name = shortTitleOf(resource, record);
      this.#names.set(id, name);
      if (name === member(record, resource.display!) && isEntered(name)) this.#entered.add(id);
    }
  }

  /** Forgets all names, of which a long file would need too many. */
  clear(): void {
    this.#names.clear();
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

/** Whether a form finds a record by this name. One that looks like an id would mean another record. */
export const isEntered = (name: string): boolean =>
  name.length <= MAX_NAME_CHARACTERS && name === name.trim() && !/[\r\n]/.test(name) && !ID.test(name);

/** An id, of which a form knows no name. */
export const ID = /^[\da-f]{8}-([\da-f]{4}-){3}[\da-f]{12}$/i;
