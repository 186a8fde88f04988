import { X509Certificate } from 'node:crypto';
import { constants, readFileSync } from 'node:fs';
import { access, statfs } from 'node:fs/promises';
import { isIP } from 'node:net';
import { dirname, resolve } from 'node:path';
import type { Config } from '../../config/config.js';
import { freePort, type ListenAddress, requestHealth } from '../../process/listen.js';
import { certificateBlocks, readTls } from '../../process/tls.js';
import { fittingConnections, openFileLimit, otherFiles } from '../../transport/open-files.js';
import { EMBEDDED_SETTINGS } from '../embedded/settings.js';
import { type Check, type Fault, messageOf, resultsOf } from './check.js';

const disk = resultsOf('disk');
const files = resultsOf('files');
const port = resultsOf('port');
const tls = resultsOf('tls');

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
    const status = free < MIN_FREE_BYTES ? 'problem' : 'warning';
    return disk.of(text, [[free < LOW_FREE_BYTES, status, text, `make room, or ${advice}`]]);
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
  const needed = maxConnections + otherFiles(config);
  return files.of(`a process may open ${limit} files`, [
    [
      fitting !== maxConnections,
      'warning',
      `a process may open ${limit} files, and MAX_CONNECTIONS=${maxConnections} needs ${needed}: the start lowers it to ${fitting}`,
      `raise the hard limit (ulimit -Hn ${needed}, LimitNOFILE= of systemd), or set MAX_CONNECTIONS=${fitting}`,
    ],
  ]);
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

const DAY_MS = 86_400_000;
const SOON_DAYS = 30;
const RENEW = 'renew the certificate; SIGHUP makes a running service read it';

/** Whether the files of the TLS settings can be used, and for how long. */
export function checkTls(config: Pick<Config, 'tlsCert' | 'tlsKey' | 'tlsClientCa' | 'publicUrl'>): Check[] {
  const { tlsCert, tlsClientCa, publicUrl } = config;
  if (tlsCert === undefined) return [tls.ok('the service has no certificate of its own')];
  try {
    readTls(config);
  } catch (error) {
    return [tls.problem(messageOf(error), 'set TLS_CERT and TLS_KEY to files in PEM that belong together')];
  }
  const certificatesIn = (file: string) =>
    certificateBlocks(readFileSync(file, 'utf8')).map((pem) => new X509Certificate(pem));
  const [own, ...chain] = certificatesIn(tlsCert) as [X509Certificate, ...X509Certificate[]];
  const authorities = tlsClientCa === undefined ? [] : certificatesIn(tlsClientCa);
  const host = publicUrl === undefined ? undefined : new URL(publicUrl).hostname.replace(/^\[|\]$/g, '');
  return tls.of(`the certificate and its key belong together, until ${own.validTo}`, [
    ...[own, ...chain].flatMap((each) => validityFaults('TLS_CERT', each)),
    ...authorities.flatMap((each) => validityFaults('TLS_CLIENT_CA', each)),
    [
      host !== undefined && (isIP(host) === 0 ? own.checkHost(host) : own.checkIP(host)) === undefined,
      'warning',
      `TLS_CERT is not for ${host}, the host of PUBLIC_URL`,
      'use a certificate that names this host',
    ],
  ]);
}

function validityFaults(name: string, { validFrom, validTo, subject }: X509Certificate): Fault[] {
  const who = `${name} (${subject.replaceAll('\n', ', ')})`;
  const days = Math.floor((Date.parse(validTo) - Date.now()) / DAY_MS);
  const advice = 'wait, or correct the clock of this machine';
  const isEarly = Date.parse(validFrom) > Date.now();
  return [
    [isEarly, 'problem', `${who} is valid from ${validFrom} on`, advice],
    [!isEarly && days < 0, 'problem', `${who} expired on ${validTo}`, RENEW],
    [
      !isEarly && days >= 0 && days < SOON_DAYS,
      'warning',
      `${who} expires in ${days} days, on ${validTo}`,
      RENEW,
    ],
  ];
}
