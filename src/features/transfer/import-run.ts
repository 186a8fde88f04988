import type { Resource } from '../../collection/resource.js';
import type { BulkConnection } from '../../db/bulk-connection.js';
import type { Json } from '../../json.js';
import type { OnConflict } from './id-conflicts.js';
import type { Progress } from './import-progress.js';

/** The state that all collections of an import share. */
export interface ImportRun {
  readonly connection: BulkConnection;
  readonly key: string;
  readonly resources: ReadonlyMap<string, Resource>;
  readonly strict: boolean;
  readonly rename: ReadonlyMap<string, string>;
  readonly recordLimit: number;
  /** Whether records keep their ids. */
  readonly retainsIds: boolean;
  readonly onConflict: OnConflict;
  /** Whether everything is rolled back at the end. */
  readonly isDryRun: boolean;
  readonly tombstones: boolean;
  /** The collections whose ids are known before their records are stored, since records refer to later ones. */
  readonly awaited: ReadonlySet<string>;
  readonly onRefused: (resource: Resource, place: string, error: unknown, given: Json | undefined) => void;
  readonly onProgress: (collection: string, progress: Progress, position: number, size?: number) => void;
}
