import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { claimPort } from '../support/claimed-port.js';
import { send } from '../support/service.js';
import type { Test } from '../support/test.js';
import { until } from '../support/until.js';

/** Why there is no haproxy here; undefined: there is. */
export function missingHaproxy(): string | undefined {
  try {
    execFileSync('haproxy', ['-v'], { stdio: 'ignore' });
    return undefined;
  } catch {
    return 'haproxy is not installed here: apt-get install haproxy';
  }
}

/** haproxy in front of services on `ports`, as operations.md has it; gives its URL. Ended when the test ends. */
export async function testHaproxy(t: Test, ports: readonly number[]): Promise<string> {
  const port = await claimPort(t);
  const lines = [
    'defaults',
    '  mode http',
    '  timeout connect 60s',
    '  timeout client 60s',
    '  timeout server 60s',
    '  option httpchk GET /readyz',
    '  timeout check 60s',
    '  default-server check inter 100ms fall 2 rise 1',
    '  retries 3',
    '  option redispatch',
    '  retry-on conn-failure',
    'frontend in',
    `  bind 127.0.0.1:${port}`,
    '  default_backend services',
    'backend services',
    ...ports.map((to, at) => `  server service${at} 127.0.0.1:${to}`),
    '',
  ];
  const folder = t.testdir({ 'haproxy.cfg': lines.join('\n') });
  const child = spawn('haproxy', ['-db', '-q', '-f', join(folder, 'haproxy.cfg')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let words = '';
  child.stderr.setEncoding('utf8').on('data', (more: string) => {
    words += more;
  });
  const ended = once(child, 'close');
  t.teardown(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const url = `http://127.0.0.1:${port}`;
  await until(
    'haproxy has a service',
    async () => {
      if (child.exitCode !== null) throw new Error(`haproxy ended: ${words}`);
      return (await send(url, 'GET', '/healthz').catch(() => undefined))?.status;
    },
    (seen) => seen === 200,
  );
  return url;
}
