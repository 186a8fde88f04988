import { createHash } from 'node:crypto';
import type { Resource } from '../../src/collection/resource.js';
import { CITUS, POSTGRESQL } from '../../src/database-url/engine.js';
import type { ImportOptions } from '../../src/features/transfer/import-run.js';
import { importSources, type Load } from '../../src/features/transfer/import-sources.js';
import { sourcesOf } from '../../src/features/transfer/sources.js';
import type { Json } from '../../src/json.js';
import { CITUS_URL } from './citus.js';

export interface Outcome extends Load {
  /** Place and reason of each refusal, sorted. */
  readonly refusals: string[];
}

/** Imports records, or the text of a JSON file with them, into the database of a service. */
export async function load(
  { url, resources }: { url: string; resources: readonly Resource[] },
  records: Record<string, Json[]> | string,
  options: Partial<ImportOptions> = {},
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
  const refusals: string[] = [];
  const nothing = { buildIndexes: async () => undefined, onIndex: () => undefined };
  const databaseEngine = CITUS_URL === '' ? POSTGRESQL : CITUS;
  const target = { url, resources, databaseEngine, events: true, tombstones: false, ...nothing } as const;
  const outcome = await importSources(target, await sourcesOf(input), {
    strict: false,
    resume: false,
    restart: false,
    lookups: new Map(),
    onConflict: 'fail',
    dryRun: false,
    rename: new Map(),
    recordLimit: 1_048_576,
    digest,
    report: {
      refused: (position, reason) => refusals.push(`${position}: ${reason}`),
      proceeded: () => undefined,
    },
    ...options,
  });
  return { ...outcome, refusals: refusals.sort() };
}
