import { constants, createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import type { Config } from '../config/config.js';
import { certificateBlocks } from './pem.js';

/** A file of the TLS settings that cannot be used, told in one line. */
export class TlsError extends Error {}

/** What the server shows and whom it believes; undefined: the configuration names no certificate. Throws TlsError. */
export function readTls(
  config: Pick<Config, 'tlsCert' | 'tlsKey' | 'tlsClientCa'>,
): SecureContextOptions | undefined {
  const { tlsCert, tlsKey, tlsClientCa } = config;
  if (tlsCert === undefined || tlsKey === undefined) return undefined;
  const key = read('TLS_KEY', tlsKey);
  const options: SecureContextOptions = {
    cert: certificatesIn('TLS_CERT', tlsCert),
    key,
    ...(tlsClientCa === undefined ? {} : { ca: certificatesIn('TLS_CLIENT_CA', tlsClientCa) }),
    minVersion: 'TLSv1.2',
    // A handshake costs us more than the client, and nobody needs a second one on a connection.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  };
  try {
    // An empty key would pass below, and no handshake with it.
    createPrivateKey(key);
    createSecureContext(options);
  } catch (error) {
    throw new TlsError(
      `TLS_CERT ${tlsCert} and TLS_KEY ${tlsKey} cannot be used: ${(error as Error).message}`,
    );
  }
  return options;
}

/** The certificates in a file, one or more: OpenSSL passes over what it cannot read, and believes the rest. */
function certificatesIn(name: string, file: string): string {
  const found = certificateBlocks(read(name, file));
  try {
    for (const pem of found) new X509Certificate(pem);
  } catch (error) {
    throw new TlsError(`${name} ${file} holds a bad certificate: ${(error as Error).message}`);
  }
  if (found.length === 0) throw new TlsError(`${name} ${file} holds no certificate in PEM`);
  return found.join('\n');
}

function read(name: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new TlsError(`${name} ${file} cannot be read: ${(error as Error).message}`);
  }
}
