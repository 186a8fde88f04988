import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from '../support/test.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const read = (name: string) => JSON.parse(readFileSync(`${ROOT}${name}`, 'utf8'));

t.test('npm asks about no install script: each package that has one is decided on', (t) => {
  const { allowScripts } = read('package.json') as { allowScripts: Record<string, boolean> };
  const packages = Object.entries(
    read('package-lock.json').packages as Record<string, { hasInstallScript?: boolean }>,
  );
  const withScript = packages.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => path);
  const names = withScript.map((path) =>
    path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
  );
  t.strictSame(
    names.filter((name) => allowScripts[name] !== false),
    [],
  );
  t.ok(names.includes('@scarf/scarf'), 'telemetry is among them');
  t.end();
});

t.test('the start says that it compiles, before it does', (t) => {
  const { scripts } = read('package.json') as { scripts: Record<string, string> };
  t.equal(scripts.prestart, 'npm run --silent compile');
  const [notice] = scripts.compile!.split(' && ');
  const { status, stdout, stderr } = spawnSync(notice!, { cwd: ROOT, shell: true, encoding: 'utf8' });
  t.match({ status, stdout, stderr }, { status: 0, stdout: '', stderr: /^Compiling Plinth; .*\n$/ });
  t.end();
});

t.test('what npm pack writes into the checkout is ignored by git', (t) => {
  const { name, version } = read('package.json') as { name: string; version: string };
  const ignored = execFileSync('git', ['check-ignore', `${name}-${version}.tgz`], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  t.equal(ignored, `${name}-${version}.tgz\n`);
  t.end();
});
