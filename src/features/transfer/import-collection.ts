import type { Resource } from '../../collection/resource.js';
import { type Chunk, chunkBytes } from './chunks.js';
import { lookUpReferences } from './follow-references.js';
import type { Progress } from './import-report.js';
import { ImportErrors, type Row } from './import-row.js';
import { type ImportRun, recordProgress } from './import-run.js';
import { IMPORT_SQL } from './import-statements.js';
import { checkDrafts, type RecordRules, readDrafts } from './read-rows.js';
import { reasonsOf } from './refusal-reasons.js';
import { rulesOf, sourceChunks } from './source-records.js';
import type { Source } from './sources.js';
import { storeBatch } from './store-batch.js';

/** A batch of an import with `strict` has a refused record. */
export class StrictStop extends Error {}

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
    const none = { stored: 0, refused: 0, unchanged: 0, retainsIds, finished: false };
    this.#progress = progress ?? { ...source.from, ...none };
  }

  /** Imports to the end. Throws StrictStop, and what no record caused. */
  async importAll(): Promise<void> {
    this.#proceed(this.#progress);
    if (this.#progress.finished) return;
    const size = chunkBytes(this.#resource.hasPasswords);
    let writing: Promise<void> = Promise.resolve();
    for await (const chunk of sourceChunks(this.source, this.#progress.place, size)) {
      const store = await this.#read(chunk);
      // One batch is read while the one before is written.
      await writing;
      writing = store();
      writing.catch(() => undefined); // thrown by the await above or below
    }
    await writing;
    this.#proceed({ ...this.#progress, finished: true });
    await recordProgress(this.run, this.source.collection, this.#progress);
  }

  #proceed(progress: Progress): void {
    this.#progress = progress;
    this.run.report.proceeded(this.source.collection, progress, this.source.input.size);
  }

  /** Reads the records of a chunk, and checks them unless their references must be looked up before. Returns what stores them. */
  async #read(chunk: Chunk): Promise<() => Promise<void>> {
    const refusals = new ImportErrors();
    const drafts = await readDrafts(chunk, this.#rules, refusals.add);
    const waits = this.#resource.references.length > 0;
    const rows = waits ? undefined : await checkDrafts(drafts, this.#rules, refusals.add);
    return async () => {
      const follow = waits ? await lookUpReferences(this.run, this.#resource, drafts) : undefined;
      const valid = rows ?? (await checkDrafts(drafts, this.#rules, refusals.add, follow));
      try {
        await this.#store(chunk, valid, refusals);
      } finally {
        for (const { place, errors, given } of refusals.list)
          for (const error of errors)
            for (const [path, reason] of reasonsOf(error, this.#resource, given))
              this.run.report.refused(`${this.source.placeText(place)}${path}`, reason);
      }
    };
  }

  async #store({ next }: Chunk, rows: readonly Row[], refusals: ImportErrors): Promise<void> {
    const { run, source } = this;
    const before = this.#progress;
    const target = { ...run, resource: this.#resource, isPart: run.dryRun };
    let progress = before;
    await storeBatch(target, rows, refusals, async ({ stored, unchanged }) => {
      const refused = before.refused + refusals.list.length;
      if (run.strict && refused > before.refused) {
        // The error rolls the transaction back.
        this.#proceed({ ...before, refused });
        throw new StrictStop();
      }
      progress = {
        ...{ ...before, ...next, refused },
        stored: before.stored + stored.length,
        unchanged: before.unchanged + unchanged.length,
      };
      const ids = stored.flatMap(({ oldId, id }) => (oldId === undefined ? [] : [[oldId, id]]));
      if (this.recordsIds && ids.length > 0)
        await run.connection.run(IMPORT_SQL.record_ids, [run.key, source.collection, JSON.stringify(ids)]);
      await recordProgress(run, source.collection, progress);
    });
    this.#proceed(progress);
  }
}
