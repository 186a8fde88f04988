import { constants, createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import type { Config } from '../config/config.js';
import { ExitError } from '../errors/exit-error.js';

/** A file of the TLS settings cannot be used. */
export class TlsError extends ExitError {}

/** The server's certificate and the CAs of its clients; undefined: the configuration names no certificate. Throws TlsError. */
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
    // A handshake costs the server more than the client, and no client needs a second one on a connection.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  };
  try {
    // createSecureContext accepts an empty key, with which every handshake fails.
    createPrivateKey(key);
    createSecureContext(options);
  } catch (error) {
    throw new TlsError(
      `TLS_CERT ${tlsCert} and TLS_KEY ${tlsKey} cannot be used: ${(error as Error).message}`,
    );
  }
  return options;
}

/** The certificates in a file, at least one. OpenSSL would ignore those that it cannot read. */
function certificatesIn(name: string, file: string): string {
  const found = certificateBlocks(read(name, file));
  try {
    for (const pem of found) new X509Certificate(pem);
  } catch (error) {
    throw new TlsError(`${name} ${file} holds an invalid certificate: ${(error as Error).message}`);
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

const BEGIN = '-----BEGIN CERTIFICATE-----';
const END = '-----END CERTIFICATE-----';

/** The certificates in a text in PEM (RFC 7468 section 2), each with its boundaries; other text is left out. */
export function certificateBlocks(text: string): string[] {
  const blocks: string[] = [];
  for (let start = text.indexOf(BEGIN); start >= 0; start = text.indexOf(BEGIN, start + BEGIN.length)) {
    const dash = text.indexOf('-', start + BEGIN.length);
    if (dash > start + BEGIN.length && text.startsWith(END, dash))
      blocks.push(text.slice(start, dash + END.length));
  }
  return blocks;
}
