import type { Resource } from '../../collection/resource.js';
import type { BulkConnection } from '../../db/bulk-connection.js';
import type { OnConflict } from './id-conflicts.js';
import type { Progress } from './import-progress.js';

/** The field that has the values of a reference, and its collection. */
export interface Lookup {
  readonly to: string;
  readonly by: string;
}

/** How records are imported. */
export interface ImportOptions {
  /** Stop at the first record that is refused. */
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
  /** Max bytes of a record. */
  readonly recordLimit: number;
  /** Identifies what is imported. */
  readonly digest: string;
  /** Called for each reason to refuse a record, with its place in the file. */
  readonly onRefused: (place: string, reason: string) => void;
  /** Called after each batch, with the size of the file in bytes. */
  readonly onProgress: (collection: string, progress: Progress, size: number | undefined) => void;
}

/** The state that all collections of an import share. */
export interface ImportRun extends ImportOptions {
  readonly connection: BulkConnection;
  readonly key: string;
  readonly resources: ReadonlyMap<string, Resource>;
  readonly tombstones: boolean;
  /** Whether records keep their ids. */
  readonly retainsIds: boolean;
  /** The collections whose ids are known before their records are stored, since records refer to later ones. */
  readonly awaited: ReadonlySet<string>;
}
