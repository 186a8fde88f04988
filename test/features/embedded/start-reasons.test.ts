import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cluster } from '../../../src/features/embedded/cluster.js';
import { startServer } from '../../../src/features/embedded/postgres-server.js';
import t, { type Test } from '../../support/test.js';
import { notInDefault } from '../../support/thorough.js';

/** A cluster whose server is a script. */
function clusterOf(t: Test, script: string): Cluster {
  const folder = t.testdir({ postgres: `#!/bin/sh\n${script}\n` });
  const program = join(folder, 'postgres');
  chmodSync(program, 0o755);
  return {
    folder,
    binaries: { postgres: program, initdb: program } as Cluster['binaries'],
    settings: [],
    password: 'x',
    runAs: undefined,
  };
}

const CLAIM = { require: async () => undefined };
const FULL = 'FATAL:  could not write lock file "postmaster.pid": No space left on device';

t.test('the first reason of a failed start is reported, whatever the next attempts fail for', async (t) => {
  const cluster = clusterOf(
    t,
    `count=$(cat "$0.count" 2>/dev/null || echo 0); echo $((count + 1)) > "$0.count"
     if [ "$count" = 0 ]; then echo '${FULL}' >&2; else echo 'FATAL:  lock file "postmaster.pid" is empty' >&2; fi
     exit 1`,
  );
  await t.rejects(startServer(cluster, CLAIM), { message: /No space left on device; then: .*is empty/ });
});

t.test('the reason is reported, whatever is printed after it', async (t) => {
  const farewell = Array.from({ length: 6 }, (_, at) => `echo 'HINT:  line ${at}' >&2`).join('\n');
  await t.rejects(startServer(clusterOf(t, `echo '${FULL}' >&2\n${farewell}\nexit 1`), CLAIM), {
    message: /^PostgreSQL did not start: .*No space left on device \| HINT: {2}line 3 \| .*line 5$/,
  });
});

t.test('words that arrive after the end of the process are waited for', async (t) => {
  // A grandchild holds the pipe for longer than the server lives.
  const cluster = clusterOf(t, `(sleep 0.3; echo '${FULL}' >&2) &\nexit 1`);
  await t.rejects(startServer(cluster, CLAIM), { message: /No space left on device/ });
});

t.test('a process that a server leaves behind delays no error', { skip: notInDefault }, async (t) => {
  const cluster = clusterOf(t, `sleep 3600 &\necho $! > "$0.pid"\necho '${FULL}' >&2\nexit 1`);
  const failed = await startServer(cluster, CLAIM).catch((error: Error) => error);
  process.kill(Number(readFileSync(`${cluster.binaries.postgres}.pid`, 'utf8')));
  t.match(failed, {
    message: /^PostgreSQL did not start, and a process that it has started still runs: .*No space left/,
  });
});

t.test('a folder that can have no Unix sockets does without', async (t) => {
  const cluster = clusterOf(
    t,
    `case "$*" in *unix_socket_directories=.*) echo 'FATAL:  could not create any Unix-domain sockets' >&2;;
     *) echo 'FATAL:  started without' >&2;; esac
     exit 1`,
  );
  await t.rejects(startServer(cluster, CLAIM), {
    message: /any Unix-domain sockets; then: .*started without/,
  });
});
