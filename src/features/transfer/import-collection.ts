import type { Resource } from '../../collection/resource.js';
import type { BulkConnection } from '../../db/bulk-connection.js';
import { fill } from '../../db/statements.js';
import type { Chunk } from './chunks.js';
import { lookUpReferences } from './follow-references.js';
import { type Draft, ImportErrors, type Row } from './import-row.js';
import { type ImportRun, type Progress, recordProgress } from './import-run.js';
import { IMPORT_SQL, recordStatement } from './import-statements.js';
import { checkDrafts, type RecordRules, readDrafts } from './read-rows.js';
import { reasonsOf } from './refusal-reasons.js';
import { rulesOf, sourceChunks } from './source-records.js';
import type { Source } from './sources.js';
import { storeBatch } from './store-batch.js';

/** Bytes of a chunk of records that may have passwords, which take long. */
const PASSWORD_CHUNK_BYTES = 65_536;

/** The records of a chunk, and those of them that are refused. */
interface Batch {
  readonly chunk: Chunk;
  readonly drafts: readonly Draft[];
  /** The valid records; undefined: their references must be looked up before. */
  readonly rows: readonly Row[] | undefined;
  readonly refusals: ImportErrors;
}

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
    const { resources, retainsIds } = run;
    this.#rules = rulesOf(run, source);
    this.#resource = this.#rules.resource;
    this.#progress = progress ?? {
      ...{ ...source.from, stored: 0, refused: 0, unchanged: 0 },
      ...{ retainsIds, finished: false },
    };
    const refers = ({ references }: Resource) => references.some(({ to }) => to === source.collection);
    const isReferenced = [...resources.values()].some((each) => imported.has(each.name) && refers(each));
    this.#recordsIds = isReferenced && !retainsIds;
  }

  get progress(): Progress {
    return this.#progress;
  }

  /** Imports to the end, or with `strict` to the first refused record. Throws what no record caused. */
  async importAll(): Promise<void> {
    if (this.#progress.finished) return;
    const size = this.#resource.hasPasswords ? PASSWORD_CHUNK_BYTES : undefined;
    let writing: Promise<void> = Promise.resolve();
    for await (const chunk of sourceChunks(this.source, this.#progress.place, size)) {
      const batch = await this.#read(chunk);
      // One batch is read while the one before is written.
      await writing;
      if (this.#isOver()) return;
      writing = this.#store(batch);
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

  async #read(chunk: Chunk): Promise<Batch> {
    const refusals = new ImportErrors(this.run.strict);
    const drafts = await readDrafts(chunk, this.#rules, refusals.add);
    const waits = this.#resource.references.length > 0;
    const rows = waits ? undefined : await checkDrafts(drafts, this.#rules, refusals.add);
    return { chunk, drafts, rows, refusals };
  }

  async #store({ chunk, drafts, rows, refusals }: Batch): Promise<void> {
    const { connection, key, dryRun: isPart } = this.run;
    const { collection } = this.source;
    const follow = await lookUpReferences(this.run, this.#resource, drafts);
    const valid = rows ?? (await checkDrafts(drafts, this.#rules, refusals.add, follow));
    const { end } = refusals;
    const wanted = valid.filter(({ place }) => place < end);
    let progress = this.#progress;
    const target = { ...this.run, resource: this.#resource, isPart };
    await storeBatch(target, wanted, refusals, async ({ stored, unchanged }) => {
      progress = this.#after(chunk, stored.length, unchanged, refusals);
      // Others refer to these records by their old ids.
      const ids = this.#recordsIds
        ? stored.flatMap(({ oldId, id }) => (oldId === undefined ? [] : [[oldId, id]]))
        : [];
      if (ids.length > 0) await connection.run(IMPORT_SQL.record_ids, [key, collection, JSON.stringify(ids)]);
      await recordProgress(connection.run, key, collection, progress);
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
    const ending = strict && size > 0 ? records.find(({ place }) => place === end) : undefined;
    const before = this.#progress;
    return {
      ...before,
      stored: before.stored + stored,
      unchanged: before.unchanged + unchanged,
      ...(ending ? { position: offset + ending.start, place: end } : next),
      refused: ending ? 1 : before.refused + size,
    };
  }

  #report({ list, strict }: ImportErrors): void {
    const { report } = this.run;
    const { placeText, collection, input } = this.source;
    for (const { place, errors, given } of strict ? list.slice(0, 1) : list)
      for (const error of errors)
        for (const [path, reason] of reasonsOf(error, this.#resource, given))
          report.refused(`${placeText(place)}${path}`, reason);
    report.proceeded(collection, this.#progress, input.size);
  }
}

/** Whether a collection has no records. */
export async function isEmpty({ run, engine }: BulkConnection, { table }: Resource): Promise<boolean> {
  const [row] = await run(fill(recordStatement(engine, 'is_empty'), { table }), []);
  return row?.empty === true;
}
