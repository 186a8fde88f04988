import { X509Certificate } from 'node:crypto';
import { constants, readFileSync } from 'node:fs';
import { access, statfs } from 'node:fs/promises';
import { isIP } from 'node:net';
import { dirname, resolve } from 'node:path';
import type { Config } from '../../config/config.js';
import { isLoopback, usesHttps } from '../../config/parsers.js';
import { isInNetworks, parseIp } from '../../formats/ip-address.js';
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

/** Networks of so many addresses hold clients as well as proxies. */
const MIN_PREFIX = 8;

/** Whether the settings of proxies and public addresses fit each other. */
export function checkProxies(config: Config): Check[] {
  const { trustProxy, proxyHeaders, publicUrl, host, tlsCert, auth } = config;
  const isForwarded = proxyHeaders === 'forwarded';
  const wide = trustProxy?.find(([, prefix]) => prefix < MIN_PREFIX);
  const loopbacks = ['127.0.0.1', '::1'].map((text) => parseIp(text));
  const trustsLoopback = loopbacks.some((address) => isInNetworks(trustProxy ?? [], address));
  const fields = isForwarded ? 'Forwarded' : 'X-Forwarded-For and X-Forwarded-Proto';
  const proxies = trustProxy
    ? `proxies in ${trustProxy.length} networks report clients in ${fields}`
    : 'no proxy is trusted';
  const url =
    publicUrl === undefined ? 'the Host of a request is the public name' : `PUBLIC_URL is ${publicUrl}`;
  return resultsOf('proxies').of(`${proxies}; ${url}`, [
    [
      !trustProxy && isForwarded,
      'warning',
      'PROXY_HEADERS has no effect, since TRUST_PROXY names no proxy',
      'set TRUST_PROXY to the addresses of the proxies, or remove PROXY_HEADERS',
    ],
    [
      wide,
      'problem',
      `TRUST_PROXY has ${wide?.join('/')}, which holds clients too: each of them can claim any address`,
      'set TRUST_PROXY to the addresses of the proxies alone',
    ],
    [
      trustProxy && !wide && isLoopback(host) && !trustsLoopback,
      'warning',
      `HOST is ${host}, which only proxies on this machine reach, and TRUST_PROXY does not name it`,
      'add 127.0.0.1 and ::1 to TRUST_PROXY, or set HOST to the address that the proxies reach',
    ],
    [
      publicUrl !== undefined && usesHttps(config) && tlsCert === undefined && !trustProxy,
      'warning',
      'PUBLIC_URL is https and this service has no TLS_CERT, so a proxy is before it that TRUST_PROXY does not name: all clients share its address in limits and logs',
      'set TRUST_PROXY to the address of the proxy, and PROXY_HEADERS to the fields that it writes',
    ],
    [
      publicUrl?.startsWith('http:') && tlsCert !== undefined,
      'warning',
      'PUBLIC_URL is http, and this service speaks https',
      'begin PUBLIC_URL with https, or remove TLS_CERT',
    ],
    [
      publicUrl === undefined && !isLoopback(host) && tlsCert === undefined && auth.length > 0,
      'warning',
      `clients send credentials to ${host} without TLS`,
      'set TLS_CERT and TLS_KEY; or with a proxy that has TLS, PUBLIC_URL and TRUST_PROXY',
    ],
  ]);
}
