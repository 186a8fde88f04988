import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from './test.js';

/** A certificate and its key: their files, and what is in them. */
export interface Pair {
  readonly certFile: string;
  readonly keyFile: string;
  readonly cert: string;
  readonly key: string;
}

/** An authority that signs certificates. */
export interface Authority extends Pair {
  sign(name: string): Pair;
}

/** False with openssl, which makes the certificates; else tap's reason to skip. */
export const withoutOpenssl: string | false = (() => {
  try {
    execFileSync('openssl', ['version'], { stdio: 'pipe' });
    return false;
  } catch {
    return 'openssl is not installed';
  }
})();

const EC = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];

/** An authority of the test's own. Its certificates are valid for servers on 127.0.0.1 and for clients. */
export function authority(t: Test, name = 'ca'): Authority {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-ca-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const run = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const pair = (name: string): Pair => {
    const [certFile, keyFile] = [join(folder, `${name}.pem`), join(folder, `${name}.key`)];
    return { certFile, keyFile, cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') };
  };
  const filesOf = (name: string) => ['-keyout', `${name}.key`, '-subj', `/CN=${name}`];
  writeFileSync(join(folder, 'extensions'), 'subjectAltName=IP:127.0.0.1\n');
  run('req', '-x509', ...EC, ...filesOf(name), '-out', `${name}.pem`);
  const signed = ['-CA', `${name}.pem`, '-CAkey', `${name}.key`, '-CAcreateserial'];
  return {
    ...pair(name),
    sign: (leaf) => {
      run('req', ...EC.slice(0, -2), ...filesOf(leaf), '-out', `${leaf}.csr`);
      const made = ['-in', `${leaf}.csr`, '-out', `${leaf}.pem`, '-days', '2', '-extfile', 'extensions'];
      run('x509', '-req', ...made, ...signed);
      return pair(leaf);
    },
  };
}
