import { constants } from 'node:fs';
import { access, statfs } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Config } from '../../config/config.js';
import { freePort, type ListenAddress, requestHealth } from '../../process/listen.js';
import { fittingConnections, openFileLimit, otherFiles } from '../../transport/open-files.js';
import { EMBEDDED_SETTINGS } from '../embedded/settings.js';
import { type Check, messageOf, resultsOf } from './check.js';

const disk = resultsOf('disk');
const files = resultsOf('files');
const port = resultsOf('port');

const MEGABYTE = 1_048_576;
/** Free bytes that a new cluster needs, and that are few for one in use. */
const MIN_FREE_BYTES = 64 * MEGABYTE;
const LOW_FREE_BYTES = 1024 * MEGABYTE;

/** Whether the folder of the embedded database can be written, and has space. */
export async function checkDisk(config: Config): Promise<Check[]> {
  const { dataDir } = EMBEDDED_SETTINGS.of(config);
  if (config.databaseUrl !== undefined)
    return [disk.ok('DATABASE_URL is set: this service writes no data to its disk')];
  const folder = await nearestFolder(resolve(dataDir));
  const advice = 'set DATA_DIR to a folder on another disk, or set DATABASE_URL';
  try {
    await access(folder, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = await statfs(folder);
    const free = bavail * bsize;
    const text = `${Math.floor(free / MEGABYTE)} MB are free for DATA_DIR ${dataDir}`;
    if (free < MIN_FREE_BYTES) return [disk.problem(text, `make room, or ${advice}`)];
    return [free < LOW_FREE_BYTES ? disk.warning(text, `make room, or ${advice}`) : disk.ok(text)];
  } catch (error) {
    return [disk.problem(`DATA_DIR ${dataDir} cannot be written: ${messageOf(error)}`, advice)];
  }
}

/** The folder, or the nearest above it that exists. */
async function nearestFolder(path: string): Promise<string> {
  const exists = await access(path).then(
    () => true,
    () => false,
  );
  return exists || path === dirname(path) ? path : nearestFolder(dirname(path));
}

/** Whether a process may open as many files as MAX_CONNECTIONS needs. */
export function checkFiles(config: Config, limit = openFileLimit()): Check[] {
  if (limit === undefined) return [files.ok('the limit of open files is unknown on this system')];
  const { maxConnections } = config;
  const fitting = fittingConnections(config, limit);
  if (fitting === maxConnections) return [files.ok(`a process may open ${limit} files`)];
  const needed = maxConnections + otherFiles(config);
  return [
    files.warning(
      `a process may open ${limit} files, and MAX_CONNECTIONS=${maxConnections} needs ${needed}: the start lowers it to ${fitting}`,
      `raise the hard limit (ulimit -Hn ${needed}, LimitNOFILE= of systemd), or set MAX_CONNECTIONS=${fitting}`,
    ),
  ];
}

/** Whether the service can listen where it is configured to. */
export async function checkPorts(config: Config): Promise<Check[]> {
  const { host, metricsHost, metricsPort } = config;
  const isTls = config.tlsCert !== undefined;
  const own = await checkPort({ host, port: config.port, setting: 'PORT' }, isTls);
  return metricsPort === undefined
    ? [own]
    : [own, await checkPort({ host: metricsHost, port: metricsPort, setting: 'METRICS_PORT' }, false)];
}

async function checkPort(address: ListenAddress, isTls: boolean): Promise<Check> {
  const { host, port: number, setting } = address;
  if (number === 0) return port.ok(`${setting} is 0: any free port`);
  try {
    await freePort(address);
    return port.ok(`port ${number} of ${host} is free`);
  } catch (error) {
    // A request to it fails if something else listens there.
    const response = await requestHealth({ host, port: number, isTls }).catch(() => undefined);
    if (response?.headers['api-version'] !== undefined)
      return port.ok(`a Plinth service listens on port ${number} of ${host}`);
    return port.problem(messageOf(error), `set ${setting} to a free port, or end what listens there`);
  }
}
