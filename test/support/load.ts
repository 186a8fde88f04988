import { createHash } from 'node:crypto';
import type { Io } from '../../src/cli/io.js';
import type { Resource } from '../../src/collection/resource.js';
import { CITUS, POSTGRESQL } from '../../src/database-url/engine.js';
import { ImportReport } from '../../src/features/transfer/import-report.js';
import type { ImportOptions } from '../../src/features/transfer/import-run.js';
import { importSources } from '../../src/features/transfer/import-sources.js';
import { sourcesOf } from '../../src/features/transfer/sources.js';
import type { Json } from '../../src/json.js';
import { CITUS_URL } from './citus.js';

export interface Outcome {
  readonly imported: readonly {
    readonly collection: string;
    readonly stored: number;
    readonly refused: number;
    readonly unchanged: number;
  }[];
  /** The error that ended the load early and that no record caused. */
  readonly fault: unknown;
  /** Place and reason of each refusal, sorted. */
  readonly refusals: string[];
}

/** Imports records, or the text of a JSON file with them, into the database of a service. */
export async function load(
  { url, resources }: { url: string; resources: readonly Resource[] },
  records: Record<string, Json[]> | string,
  { bodyLimit = 1_048_576, ...options }: Partial<ImportOptions> & { readonly bodyLimit?: number } = {},
): Promise<Outcome> {
  const bytes = Buffer.from(typeof records === 'string' ? records : JSON.stringify(records));
  const digest = createHash('sha256').update(bytes).digest('hex');
  const input = {
    name: 'records.json',
    format: 'json' as const,
    head: bytes,
    size: bytes.length,
    digest,
    start: 0,
    isWhole: true,
    read: async function* (from: number) {
      yield bytes.subarray(from);
    },
    close: () => undefined,
  };
  let printed = '';
  const stdout = {
    write: (text: string) => {
      printed += text;
    },
  };
  const report = new ImportReport({ stdout, stderr: {} } as unknown as Io, true, false);
  const databaseEngine = CITUS_URL === '' ? POSTGRESQL : CITUS;
  const settings = { url, databaseEngine, events: true, tombstones: false, bodyLimit } as const;
  let fault: unknown;
  try {
    await importSources(settings, resources, await sourcesOf(input), {
      infer: false,
      strict: false,
      resume: false,
      restart: false,
      lookups: new Map(),
      onConflict: 'fail',
      dryRun: false,
      rename: new Map(),
      report,
      ...options,
    });
  } catch (error) {
    fault = error;
  }
  report.end();
  const { collections: imported, refusals } = JSON.parse(printed);
  const lines = refusals.map(({ place, reason }: Record<string, string>) => `${place}: ${reason}`);
  return { imported, fault, refusals: lines.sort() };
}
