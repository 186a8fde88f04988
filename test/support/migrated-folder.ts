import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { promisify } from 'node:util';
import { COLLECTIONS } from './names.js';
import { dataFolder } from './process.js';
import type { Test } from './test.js';

/** The variable with the data folder that the runner has made. */
export const CLUSTER = 'PLINTH_TEST_CLUSTER';

/**
 * A data folder as a service with the declarations of the project leaves it, without records: it starts in a fraction of the
 * time of an empty one. Where the collections have other names, or on Citus, the folder is empty.
 */
export async function migratedFolder(t: Test): Promise<string> {
  const folder = await dataFolder(t);
  await copyCluster(folder);
  return folder;
}

/** Fills a data folder, which it makes if there is none. */
export async function copyCluster(folder: string): Promise<void> {
  const cluster = process.env[CLUSTER];
  if (cluster === undefined || COLLECTIONS.COLLECTIONS !== undefined) return;
  mkdirSync(folder, { recursive: true });
  await promisify(execFile)('cp', ['-a', `${cluster}/postgres`, folder]);
}
