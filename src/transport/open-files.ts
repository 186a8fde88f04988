import { readFileSync } from 'node:fs';
import type { Config } from '../config/config.js';
import { MAX_INTROSPECTIONS } from '../config/limit-settings.js';
import type { Log } from '../telemetry/log.js';
import { MAX_METRICS_CONNECTIONS, MAX_REFUSED } from './connections.js';

/** Files that a process has open besides connections: Node's own, modules, logs, declarations, and some to spare. */
const OTHER_FILES = 64;

/** The settings on which the number of open files depends. */
type Opened = Pick<
  Config,
  | 'maxConnections'
  | 'dbConnections'
  | 'dbSearches'
  | 'dbStreams'
  | 'metricsPort'
  | 'introspection'
  | 'features'
>;

/** How many files a process may need besides the connections that MAX_CONNECTIONS limits. */
export function otherFiles(config: Opened): number {
  const { dbConnections, dbSearches, dbStreams } = config;
  const { metricsPort, introspection } = config;
  // Each pool may have as many again that are stalled, and attempts beside each other.
  const database = 3 * (2 * dbConnections + dbSearches + dbStreams) + 3;
  const metrics = metricsPort === undefined ? 0 : MAX_METRICS_CONNECTIONS + MAX_REFUSED;
  const introspections = introspection === undefined ? 0 : MAX_INTROSPECTIONS;
  const ofFeatures = [...config.features].map(([{ part }, own]) => part.files?.(own, database) ?? 0);
  const added = ofFeatures.reduce((sum, count) => sum + count, 0);
  return OTHER_FILES + MAX_REFUSED + database + metrics + introspections + added;
}

/** The most connections that leave the files which the rest of a process needs: at least a quarter of the limit. */
export const fittingConnections = (config: Opened, limit: number): number =>
  Math.min(config.maxConnections, Math.max(1, limit - otherFiles(config), Math.floor(limit / 4)));

/** Lowers MAX_CONNECTIONS, with a warning, if the process may not open as many files as it needs. */
export function fitOpenFiles<C extends Opened>(config: C, log: Log, limit = openFileLimit()): C {
  const maxConnections = limit === undefined ? config.maxConnections : fittingConnections(config, limit);
  if (maxConnections === config.maxConnections) return config;
  log.warn(
    { limit, maxConnections },
    `MAX_CONNECTIONS=${config.maxConnections} is lowered to ${maxConnections}: a process may open ${limit} files (ulimit -n, LimitNOFILE= of systemd)`,
  );
  return { ...config, maxConnections };
}

/** How many files a process may open; undefined: unknown. Node has raised its limit to the hard one. */
export function openFileLimit(): number | undefined {
  try {
    const [, soft] =
      /^Max open files +(\d+|unlimited)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    if (soft !== undefined) return soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    // Only Linux has the file.
  }
  return undefined;
}
