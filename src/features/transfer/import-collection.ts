import type { Resource } from '../../collection/resource.js';
import { compileInput } from '../../collection/validated-input.js';
import type { BulkConnection } from '../../db/bulk-connection.js';
import { fill } from '../../db/statements.js';
import { followReferences } from './check-references.js';
import { type Chunk, chunksOf } from './chunks.js';
import { columnsOf } from './csv-record.js';
import { deferReferences } from './deferred-references.js';
import { ImportErrors } from './import-errors.js';
import { beginning, type Progress, recordProgress } from './import-progress.js';
import type { ImportRow } from './import-row.js';
import type { ImportRun } from './import-run.js';
import { recordStatement } from './import-statements.js';
import { checkDrafts, type RecordRules, readDrafts } from './read-rows.js';
import { registerIds, useRegisteredIds } from './registered-ids.js';
import type { Source } from './sources.js';
import { hashPasswords, storeBatch } from './store-batch.js';

/** Bytes of a chunk, and of one whose records may have passwords, which take long. */
const CHUNK_BYTES = 262_144;
const PASSWORD_CHUNK_BYTES = 65_536;

/** Imports the records of one collection, from the place in its progress on. */
export class CollectionImport {
  readonly #rules: RecordRules;
  readonly #resource: Resource;
  /** Whether other records may refer to these by their old ids, which are not known yet. */
  readonly #recordsIds: boolean;
  #progress: Progress;

  constructor(
    private readonly run: ImportRun,
    private readonly source: Source,
    imported: ReadonlySet<string>,
    progress: Progress | undefined,
  ) {
    const resource = run.resources.get(source.collection)!;
    const { rename, recordLimit: maxBytes, resources, retainsIds } = run;
    this.#resource = resource;
    const columns = source.header && columnsOf(source.header, resource, rename, 'import');
    this.#rules = {
      resource,
      check: compileInput(resource),
      origin: 'import',
      rename,
      maxBytes,
      retainsIds,
      columns,
    };
    this.#progress = progress ?? beginning(source, run.retainsIds);
    const refers = ({ references }: Resource) => references.some(({ to }) => to === resource.name);
    const isReferenced = [...resources.values()].some((each) => imported.has(each.name) && refers(each));
    this.#recordsIds = isReferenced && !retainsIds && !run.awaited.has(resource.name);
  }

  /** Whether drafts are validated when the batch before them is stored, and their ids and references are known. */
  get #waits(): boolean {
    return this.#resource.references.length > 0 || this.run.awaited.has(this.#resource.name);
  }

  get progress(): Progress {
    return this.#progress;
  }

  /** Imports to the end, or with `strict` to the first refused record. Throws what no record caused. */
  async importAll(): Promise<void> {
    const { input, scanner, from } = this.source;
    if (this.#progress.finished) return;
    const size = this.#resource.hasPasswords ? PASSWORD_CHUNK_BYTES : CHUNK_BYTES;
    const { place } = this.#progress;
    const chunks = chunksOf(input.read(from.position), scanner, from, { size });
    let writing: Promise<void> = Promise.resolve();
    for await (const chunk of chunks) {
      const records = chunk.records.filter((each) => each.place >= place);
      if (records.length === 0) continue;
      const batch = await this.#read({ ...chunk, records });
      // One batch is read while the one before is written.
      await writing;
      if (this.#isOver()) return;
      writing = this.#store(chunk, batch);
      writing.catch(() => undefined); // thrown by the await above or below
    }
    await writing;
    if (this.#isOver()) return;
    this.#progress = { ...this.#progress, finished: true };
    await recordProgress(this.run.connection.run, this.run.key, this.source.collection, this.#progress);
  }

  #isOver(): boolean {
    return this.run.strict && this.#progress.refused > 0;
  }

  /** Reads a chunk, and validates it unless its references must be replaced before. */
  async #read(chunk: Chunk): Promise<{ drafts: ImportRow[]; refusals: ImportErrors }> {
    const refusals = new ImportErrors(this.run.strict);
    const drafts = await readDrafts(chunk, this.#rules, refusals.add);
    if (!this.#waits) await checkDrafts(drafts, this.#rules, refusals.add);
    return { drafts, refusals };
  }

  async #store(chunk: Chunk, batch: { drafts: ImportRow[]; refusals: ImportErrors }): Promise<void> {
    const { connection, resources, key, awaited } = this.run;
    const { drafts, refusals } = batch;
    if (awaited.has(this.#resource.name)) await useRegisteredIds(this.run, this.#resource.name, drafts);
    if (this.#resource.references.length > 0)
      await followReferences(connection.run, drafts, this.#resource, resources, key);
    if (this.#waits) await checkDrafts(drafts, this.#rules, refusals.add);
    const { end } = refusals;
    const wanted = drafts.filter(({ place }) => place < end);
    await hashPasswords(wanted, refusals);
    let progress = this.#progress;
    const target = { ...this.run, resource: this.#resource, isPart: this.run.isDryRun };
    await storeBatch(target, wanted, refusals, async ({ stored, unchanged }) => {
      progress = this.#after(chunk, stored.length, unchanged, refusals);
      await this.#recordIds(stored);
      await deferReferences(this.run, this.#resource.name, stored);
      await recordProgress(connection.run, key, this.source.collection, progress);
    });
    this.#progress = progress;
    this.#report(refusals);
  }

  /** The progress after a chunk; with `strict` it ends at the first refused record. */
  #after(
    { next, offset, records }: Chunk,
    stored: number,
    unchanged: number,
    refusals: ImportErrors,
  ): Progress {
    const { strict, size, end } = refusals;
    const before = this.#progress;
    const total = {
      ...before,
      stored: before.stored + stored,
      unchanged: before.unchanged + unchanged,
      finished: false,
    };
    if (!strict || size === 0) return { ...total, ...next, refused: before.refused + size };
    const { start } = records.find(({ place }) => place === end)!;
    return { ...total, position: offset + start, place: end, refused: 1 };
  }

  async #recordIds(stored: readonly ImportRow[]): Promise<void> {
    if (!this.#recordsIds) return;
    const pairs = stored.flatMap(({ oldId, storesOldId, identity }) =>
      oldId === undefined || storesOldId ? [] : [[oldId, identity.id] as const],
    );
    await registerIds(this.run, this.source.collection, pairs);
  }

  #report(refusals: ImportErrors): void {
    const { onRefused, onProgress, strict } = this.run;
    const { list } = refusals;
    for (const { place, errors, given } of strict ? list.slice(0, 1) : list)
      for (const error of errors) onRefused(this.#resource, this.source.placeText(place), error, given);
    onProgress(this.source.collection, this.#progress, this.#progress.position, this.source.input.size);
  }
}

/** Whether a collection has no records. */
export async function isEmpty({ run, engine }: BulkConnection, { table }: Resource): Promise<boolean> {
  const [row] = await run(fill(recordStatement(engine, 'is_empty'), { table }), []);
  return row?.empty === true;
}
