import { execFileSync } from 'node:child_process';
import { copyFileSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from '../support/test.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

const MAX_PACKAGES = 25;
const MAX_BYTES = 9_200_000;

interface Locked {
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly devOptional?: boolean;
}

function bytesIn(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}

t.test('the production install is small', async (t) => {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  const folders = Object.entries(lock.packages as Record<string, Locked>)
    .filter(([folder, { dev, optional, devOptional }]) => folder !== '' && !dev && !optional && !devOptional)
    .map(([folder]) => folder);
  t.ok(folders.length >= 7, `${folders.length} packages`);
  t.ok(folders.length <= MAX_PACKAGES, `no more than ${MAX_PACKAGES}`);
  // One inside another is counted with it.
  const outer = folders.filter((folder) => folder.lastIndexOf('node_modules/') === 0);
  const bytes = outer.reduce((sum, folder) => sum + bytesIn(join(ROOT, folder)), 0);
  t.ok(bytes <= MAX_BYTES, `${bytes} bytes are no more than ${MAX_BYTES}`);
});

/** The most packages that the first command installs. */
const MAX_ALL_PACKAGES = 560;

t.test('the first install is light, and warns of nothing', async (t) => {
  const cwd = t.testdir();
  for (const name of ['package.json', 'package-lock.json', '.npmrc'])
    copyFileSync(join(ROOT, name), join(cwd, name));
  // Both streams, since npm warns on the second.
  const printed = execFileSync('npm ci --dry-run --offline 2>&1', {
    cwd,
    shell: '/bin/sh',
    encoding: 'utf8',
  });
  t.same(
    printed.split('\n').filter((line) => line.startsWith('npm ')),
    [],
  );
  const added = Number(/^added (\d+) packages/m.exec(printed)?.[1]);
  t.ok(added > 100 && added <= MAX_ALL_PACKAGES, `${added} packages`);
});
