import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import type { Config } from '../../config/config.js';
import { certificateBlocks, readTls } from '../../process/tls.js';
import { type Check, messageOf, resultsOf } from './check.js';

const { ok, warning, problem } = resultsOf('tls');

const DAY_MS = 86_400_000;
const SOON_DAYS = 30;

/** Whether the files of the TLS settings can be used, and for how long. */
export function checkTls(config: Pick<Config, 'tlsCert' | 'tlsKey' | 'tlsClientCa' | 'publicUrl'>): Check[] {
  const { tlsCert, tlsClientCa, publicUrl } = config;
  if (tlsCert === undefined) return [ok('the service has no certificate of its own')];
  try {
    readTls(config);
  } catch (error) {
    return [problem(messageOf(error), 'set TLS_CERT and TLS_KEY to files in PEM that belong together')];
  }
  const certificates = [
    ...certificatesOf('TLS_CERT', tlsCert),
    ...(tlsClientCa === undefined ? [] : certificatesOf('TLS_CLIENT_CA', tlsClientCa)),
  ];
  const found = certificates.flatMap(([name, certificate]) => validityFaults(name, certificate, Date.now()));
  const own = certificates[0]![1];
  const host = publicUrl === undefined ? undefined : new URL(publicUrl).hostname.replace(/^\[|\]$/g, '');
  if (host !== undefined && !isFor(own, host))
    found.push(
      warning(
        `TLS_CERT is not for ${host}, the host of PUBLIC_URL`,
        'use a certificate that names this host',
      ),
    );
  return found.length > 0 ? found : [ok(`the certificate and its key belong together, until ${own.validTo}`)];
}

const isFor = (certificate: X509Certificate, host: string): boolean =>
  (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined;

function certificatesOf(name: string, file: string): [string, X509Certificate][] {
  return certificateBlocks(readFileSync(file, 'utf8')).map((pem) => [name, new X509Certificate(pem)]);
}

function validityFaults(
  name: string,
  { validFrom, validTo, subject }: X509Certificate,
  now: number,
): Check[] {
  const who = `${name} (${subject.replaceAll('\n', ', ')})`;
  const days = Math.floor((Date.parse(validTo) - now) / DAY_MS);
  if (Date.parse(validFrom) > now)
    return [problem(`${who} is valid from ${validFrom} on`, 'wait, or correct the clock of this machine')];
  if (days < 0) return [problem(`${who} expired on ${validTo}`, RENEW)];
  return days < SOON_DAYS ? [warning(`${who} expires in ${days} days, on ${validTo}`, RENEW)] : [];
}

const RENEW = 'renew the certificate; SIGHUP makes a running service read it';
