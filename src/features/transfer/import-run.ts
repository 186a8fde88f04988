import type { Resource } from '../../collection/resource.js';
import type { BulkConnection } from '../../db/bulk-connection.js';
import type { OnConflict } from './id-conflicts.js';
import type { ImportReport, Progress } from './import-report.js';
import { IMPORT_SQL } from './import-statements.js';

/** The field that has the values of a reference, and its collection. */
export interface Lookup {
  readonly to: string;
  readonly by: string;
}

/** How records are imported. */
export interface ImportOptions {
  /** Declare the collections of the files. */
  readonly infer: boolean;
  /** Stop at the first batch with a record that is refused, and store nothing of it. */
  readonly strict: boolean;
  /** Continue an interrupted import of the same content. */
  readonly resume: boolean;
  /** Import content whose import was interrupted from its beginning. */
  readonly restart: boolean;
  /** Old name -> new name of top-level fields, for every record. */
  readonly rename: ReadonlyMap<string, string>;
  /** The fields with values of records to which they refer, and where these values are. */
  readonly lookups: ReadonlyMap<string, Lookup>;
  /** Whether records keep their ids; undefined: those of an export do, if the database has no records of its collections. */
  readonly keepIds?: boolean | undefined;
  readonly onConflict: OnConflict;
  /** Check everything, and roll it back at the end. */
  readonly dryRun: boolean;
  readonly report: ImportReport;
}

/** The state that all collections of an import share. */
export interface ImportRun extends ImportOptions {
  readonly connection: BulkConnection;
  /** Identifies the import by its content, and by what is done with it. */
  readonly key: string;
  readonly resources: ReadonlyMap<string, Resource>;
  readonly tombstones: boolean;
  /** Max bytes of a record. */
  readonly bodyLimit: number;
  /** Whether records keep their ids. */
  readonly retainsIds: boolean;
}

/** Records progress; in the transaction of the records that it counts. */
export async function recordProgress(
  { connection: { run }, key }: ImportRun,
  collection: string,
  { position, place, stored, refused, unchanged, retainsIds, finished }: Progress,
): Promise<void> {
  const counts = [position, place, stored, refused, unchanged];
  await run(IMPORT_SQL.record_progress, [key, collection, ...counts, String(retainsIds), String(finished)]);
}
