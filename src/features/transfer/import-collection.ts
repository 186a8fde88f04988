import type { Resource } from '../../collection/resource.js';
import { type Chunk, chunkBytes } from './chunks.js';
import { lookUpReferences } from './follow-references.js';
import type { Progress } from './import-report.js';
import { ImportErrors } from './import-row.js';
import { type ImportRun, recordProgress } from './import-run.js';
import { IMPORT_SQL } from './import-statements.js';
import { checkDrafts, type RecordRules, readDrafts } from './read-rows.js';
import { reasonsOf } from './refusal-reasons.js';
import { rulesOf, sourceChunks } from './source-records.js';
import type { Source } from './sources.js';
import { storeBatch } from './store-batch.js';

/** Imports the records of one collection, from the place in its progress on. */
export class CollectionImport {
  readonly #rules: RecordRules;
  readonly #resource: Resource;
  #progress: Progress;

  /** `recordsIds`: other records may refer to these by their old ids. */
  constructor(
    private readonly run: ImportRun,
    private readonly source: Source,
    private readonly recordsIds: boolean,
    progress: Progress | undefined,
  ) {
    const { retainsIds } = run;
    this.#rules = rulesOf(run, source);
    this.#resource = this.#rules.resource;
    this.#progress = progress ?? {
      ...{ ...source.from, stored: 0, refused: 0, unchanged: 0, retainsIds, finished: false },
    };
  }

  /** Imports to the end, or with `strict` to the first refused record: then it is false. Throws what no record caused. */
  async importAll(): Promise<boolean> {
    this.#proceed(this.#progress);
    if (this.#progress.finished) return !this.#isOver();
    const size = chunkBytes(this.#resource.hasPasswords);
    let writing: Promise<void> = Promise.resolve();
    for await (const chunk of sourceChunks(this.source, this.#progress.place, size)) {
      const store = await this.#read(chunk);
      // One batch is read while the one before is written.
      await writing;
      if (this.#isOver()) return false;
      writing = store();
      writing.catch(() => undefined); // thrown by the await above or below
    }
    await writing;
    if (this.#isOver()) return false;
    this.#proceed({ ...this.#progress, finished: true });
    await recordProgress(this.run, this.source.collection, this.#progress);
    return true;
  }

  #isOver(): boolean {
    return this.run.strict && this.#progress.refused > 0;
  }

  #proceed(progress: Progress): void {
    this.#progress = progress;
    this.run.report.proceeded(this.source.collection, progress, this.source.input.size);
  }

  /** Reads the records of a chunk, and checks them unless their references must be looked up before. Returns what stores them. */
  async #read(chunk: Chunk): Promise<() => Promise<void>> {
    const refusals = new ImportErrors(this.run.strict);
    const drafts = await readDrafts(chunk, this.#rules, refusals.add);
    const waits = this.#resource.references.length > 0;
    const rows = waits ? undefined : await checkDrafts(drafts, this.#rules, refusals.add);
    return async () => {
      const { run, source } = this;
      const follow = waits ? await lookUpReferences(run, this.#resource, drafts) : undefined;
      const valid = rows ?? (await checkDrafts(drafts, this.#rules, refusals.add, follow));
      const wanted = valid.filter(({ place }) => place < refusals.end);
      const before = this.#progress;
      let progress = before;
      const target = { ...run, resource: this.#resource, isPart: run.dryRun };
      await storeBatch(target, wanted, refusals, async ({ stored, unchanged }) => {
        progress = {
          ...{ ...before, ...chunk.next, place: Math.min(chunk.next.place, refusals.end) },
          stored: before.stored + stored.length,
          unchanged: before.unchanged + unchanged,
          refused: before.refused + refusals.list.length,
        };
        const ids = stored.flatMap(({ oldId, id }) => (oldId === undefined ? [] : [[oldId, id]]));
        if (this.recordsIds && ids.length > 0)
          await run.connection.run(IMPORT_SQL.record_ids, [run.key, source.collection, JSON.stringify(ids)]);
        await recordProgress(run, source.collection, progress);
      });
      for (const { place, errors, given } of refusals.list)
        for (const error of errors)
          for (const [path, reason] of reasonsOf(error, this.#resource, given))
            run.report.refused(`${source.placeText(place)}${path}`, reason);
      this.#proceed(progress);
    };
  }
}
