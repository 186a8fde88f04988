import type { Resource } from '../collection/resource.js';
import { compileInput } from '../collection/validated-input.js';
import type { BulkConnection } from '../db/bulk-connection.js';
import { fill } from '../db/statements.js';
import { checkDrafts, type Draft, type RecordRules, readDrafts } from './batch.js';
import { followReferences } from './check-references.js';
import { type Chunk, chunksOf, type Position } from './chunks.js';
import { columnsOf } from './csv-record.js';
import { recordStatements, STATEMENTS } from './import-statements.js';
import { dropIndexes } from './indexes.js';
import type { Input } from './input.js';
import { type Progress, recordProgress } from './progress.js';
import { LEGACY_ID } from './record-id.js';
import type { Scanner } from './scan.js';
import { hashPasswords, Refusals, storeBatch } from './store-batch.js';

/** The records of one collection in a file. */
export interface Source {
  readonly collection: string;
  readonly input: Pick<Input, 'read' | 'size'>;
  readonly scanner: Scanner;
  /** Where the records begin. */
  readonly from: Position;
  /** The names of the columns of CSV. */
  readonly header?: readonly string[];
  /** A record's place as the user sees it. */
  readonly placeText: (place: number) => string;
}

/** What all collections of an import share. */
export interface ImportRun {
  readonly connection: BulkConnection;
  readonly key: string;
  readonly resources: ReadonlyMap<string, Resource>;
  readonly strict: boolean;
  readonly rename: ReadonlyMap<string, string>;
  readonly recordLimit: number;
  readonly onRefused: (place: string, error: unknown) => void;
  readonly onProgress: (collection: string, progress: Progress, position: number, size?: number) => void;
  /** The definitions of indexes that must be built after the import. */
  readonly droppedIndexes: string[];
}

/** Bytes of a chunk, and of one whose records may have passwords, which take long. */
const CHUNK_BYTES = 262_144;
const PASSWORD_CHUNK_BYTES = 65_536;
/** Bytes from which on it takes less time to build the indexes of an empty table afterwards. */
const MANY_BYTES = 4_194_304;

/** Imports the records of one collection from where its progress says. */
export class CollectionImport {
  readonly #rules: RecordRules;
  readonly #resource: Resource;
  /** Whether other records may refer to these by their old ids. */
  readonly #isReferenced: boolean;
  #progress: Progress;
  #dropsIndexes = false;

  constructor(
    private readonly run: ImportRun,
    private readonly source: Source,
    imported: ReadonlySet<string>,
    progress: Progress | undefined,
  ) {
    const resource = run.resources.get(source.collection)!;
    const { rename, recordLimit: maxBytes, resources } = run;
    this.#resource = resource;
    const columns = source.header && columnsOf(source.header, resource, rename);
    this.#rules = { resource, check: compileInput(resource), rename, maxBytes, columns };
    this.#progress = progress ?? { ...source.from, stored: 0, refused: 0, finished: false };
    const refers = ({ references }: Resource) => references.some(({ to }) => to === resource.name);
    this.#isReferenced =
      !resource.columns.has(LEGACY_ID) &&
      [...resources.values()].some((each) => imported.has(each.name) && refers(each));
  }

  get progress(): Progress {
    return this.#progress;
  }

  /** Imports to the end, or with `strict` to the first refused record. Throws what no record caused. */
  async importAll(): Promise<void> {
    const { input, scanner, from } = this.source;
    if (this.#progress.finished) return;
    this.#dropsIndexes = this.#progress.position === from.position && (await this.#isEmpty());
    const size = this.#resource.hasPasswords ? PASSWORD_CHUNK_BYTES : CHUNK_BYTES;
    const chunks = chunksOf(input.read(this.#progress.position), scanner, this.#progress, size);
    let writing: Promise<void> = Promise.resolve();
    for await (const chunk of chunks) {
      const batch = await this.#read(chunk);
      // One batch is read while the one before is written.
      await writing;
      if (this.#isOver()) return;
      if (this.#dropsIndexes && chunk.next.position - from.position > MANY_BYTES) await this.#dropIndexes();
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
  async #read(chunk: Chunk): Promise<{ drafts: Draft[]; refusals: Refusals }> {
    const refusals = new Refusals(this.run.strict);
    const drafts = await readDrafts(chunk, this.#rules, refusals.add);
    if (this.#resource.references.length === 0) await checkDrafts(drafts, this.#rules, refusals.add);
    return { drafts, refusals };
  }

  async #store(chunk: Chunk, batch: { drafts: Draft[]; refusals: Refusals }): Promise<void> {
    const { connection, resources, key } = this.run;
    const { drafts, refusals } = batch;
    if (this.#resource.references.length > 0) {
      await followReferences(connection.run, drafts, this.#resource, resources, key, refusals.add);
      await checkDrafts(drafts, this.#rules, refusals.add);
    }
    const { end } = refusals;
    const wanted = drafts.filter(({ place }) => place < end);
    await hashPasswords(wanted, refusals);
    let progress = this.#progress;
    await storeBatch(connection, this.#resource, wanted, refusals, async (stored) => {
      progress = this.#after(chunk, stored.length, refusals);
      await this.#recordIds(stored);
      await recordProgress(connection.run, key, this.source.collection, progress);
    });
    this.#progress = progress;
    this.#report(refusals);
  }

  /** The progress after a chunk; with `strict` it ends at the first refused record. */
  #after({ next, offset, places, starts }: Chunk, stored: number, { list, strict, end }: Refusals): Progress {
    const total = { stored: this.#progress.stored + stored, finished: false };
    if (!strict || list.length === 0)
      return { ...total, ...next, refused: this.#progress.refused + list.length };
    return { ...total, position: offset + starts[places.indexOf(end)]!, place: end, refused: 1 };
  }

  async #recordIds(stored: readonly Draft[]): Promise<void> {
    if (!this.#isReferenced) return;
    const { connection, key } = this.run;
    const pairs = stored.flatMap(({ oldId, identity }) =>
      oldId === undefined ? [] : [[oldId, identity.id]],
    );
    const args = [key, this.source.collection, JSON.stringify(pairs)];
    if (pairs.length > 0) await connection.run(STATEMENTS.get('record_ids')!, args);
  }

  #report({ list, strict }: Refusals): void {
    const { onRefused, onProgress } = this.run;
    const sorted = list.sort((a, b) => a.place - b.place);
    for (const { place, error } of strict ? sorted.slice(0, 1) : sorted)
      onRefused(this.source.placeText(place), error);
    onProgress(this.source.collection, this.#progress, this.#progress.position, this.source.input.size);
  }

  async #isEmpty(): Promise<boolean> {
    const { run, engine } = this.run.connection;
    const text = fill(recordStatements(engine).get('is_empty')!, { table: this.source.collection });
    const [row] = await run(text, []);
    return row?.empty === true;
  }

  async #dropIndexes(): Promise<void> {
    this.#dropsIndexes = false;
    this.run.droppedIndexes.push(...(await dropIndexes(this.run.connection, this.source.collection)));
  }
}
