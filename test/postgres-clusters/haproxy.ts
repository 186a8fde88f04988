import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { claimPort } from '../support/claimed-port.js';
import { connected } from '../support/connected.js';
import type { Test } from '../support/test.js';
import { until } from '../support/until.js';
import type { Node } from './patroni.js';
import { run } from './programs.js';

/** haproxy in front of the primary, which it finds by Patroni's health check. Returns the database URL. */
export async function testDatabaseProxy(t: Test, nodes: readonly Node[]): Promise<string> {
  const port = await claimPort(t);
  const lines = [
    'defaults',
    '  mode tcp',
    '  timeout connect 1s',
    '  timeout client 1h',
    '  timeout server 1h',
    '  timeout check 1s',
    'listen primary',
    `  bind 127.0.0.1:${port}`,
    '  option httpchk OPTIONS /primary',
    '  http-check expect status 200',
    '  default-server check inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions',
    ...nodes.map(({ name, host }) => `  server ${name} ${host.address}:5432 check port 8008`),
    '',
  ];
  const file = join(t.testdir(), 'haproxy.cfg');
  writeFileSync(file, lines.join('\n'));
  run(t, ['haproxy', '-db', '-q', '-f', file]);
  const address = { url: `tcp://127.0.0.1:${port}` };
  await until('HAProxy listens', () =>
    connected(t, address).then(
      ({ socket }) => socket.destroy(),
      () => undefined,
    ),
  );
  return `postgres://postgres:secret@127.0.0.1:${port}/postgres`;
}
