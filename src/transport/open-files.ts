import { readFileSync } from 'node:fs';
import type { Config } from '../config/config.js';
import type { Log } from '../telemetry/log.js';

/** Files that a process may have open besides connections: pools, other services, workers, logs, modules, and some to spare. */
const OTHER_FILES = 512;

/** The settings on which the number of open files depends. */
type Opened = Pick<Config, 'maxConnections' | 'dbConnections'>;

/** How many files a process may need besides the connections that MAX_CONNECTIONS limits. */
export const otherFiles = ({ dbConnections }: Opened): number => OTHER_FILES + 12 * dbConnections;

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
