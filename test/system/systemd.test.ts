import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EXITS } from '../../src/errors/exit-error.js';
import { folderOf } from '../support/folder.js';
import { readSettings } from '../support/settings.js';
import t from '../support/test.js';

const UNIT = readFileSync(fileURLToPath(new URL('../../../deploy/plinth.service', import.meta.url)), 'utf8');
const unitValue = (name: string): string => new RegExp(`^${name}=(.*)$`, 'm').exec(UNIT)?.[1] ?? '';
const missing =
  spawnSync('systemd-analyze', ['--version']).status !== 0 && 'systemd-analyze is not installed';

t.test('systemd-analyze verify has no findings in the unit', { skip: missing }, async (t) => {
  const folder = folderOf(t);
  const file = join(folder, 'plinth.service');
  // The programs of this machine may be elsewhere.
  writeFileSync(file, UNIT.replace('/usr/bin/node', process.execPath));
  const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], {
    encoding: 'utf8',
  });
  const own = `${stdout}${stderr}`.split('\n').filter((line) => line.includes('plinth'));
  t.same([status, own], [0, []]);
});

t.test('the unit leaves the service no more rights than it uses', async (t) => {
  for (const [name, value] of Object.entries({
    CapabilityBoundingSet: '',
    NoNewPrivileges: 'yes',
    ProtectClock: 'yes',
    RestrictNamespaces: 'yes',
    SystemCallFilter: '@system-service',
  }))
    t.match(UNIT, new RegExp(`^${name}=${value}$`, 'm'));
});

t.test('the unit fits the service', async (t) => {
  const config = readSettings({});
  t.ok(Number(unitValue('TimeoutStopSec')) * 1000 > config.shutdownDelayMs + config.shutdownMs);
  t.ok(Number(unitValue('LimitNOFILE')) > config.maxConnections);
  const codes = Object.entries(EXITS).map(([code, { name }]) => [name, code] as const);
  const incurable = codes
    .filter(([name]) => ['USAGE', 'CONFIGURATION'].includes(name))
    .map(([, code]) => code);
  t.equal(unitValue('RestartPreventExitStatus'), incurable.join(' '));
  t.equal(
    unitValue('StartLimitIntervalSec'),
    '0',
    'a database that is away for long does not end the attempts',
  );
});

t.test('docs/configuration.md has the exit codes of the service', async (t) => {
  const page = readFileSync(
    fileURLToPath(new URL('../../../docs/configuration.md', import.meta.url)),
    'utf8',
  );
  const rows = page.slice(page.indexOf('## Exit codes')).matchAll(/^\| (\d[\d, ]*) \|/gm);
  const documented = [...rows].flatMap(([, codes]) => codes!.split(', '));
  const others = Object.keys(EXITS).filter((code) => code !== '73');
  t.same(documented, [...others, '130', '143'], '73 is of commands that write files');
});
