import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { newSecret } from '../../src/webhooks/secret.js';
import { signWebhook } from '../../src/webhooks/sign.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');

const folder = mkdtempSync(join(tmpdir(), 'plinth-package-'));
t.teardown(() => rmSync(folder, { recursive: true }));

const npm = (cwd: string, ...args: string[]) =>
  execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
const node = (...args: string[]) => execFileSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });

/** Packs and installs Plinth without the network: the packages that it needs are copied from this checkout. */
function install(): void {
  const packed = JSON.parse(npm(ROOT, 'pack', '--silent', '--json', `--pack-destination=${folder}`));
  writeFileSync(join(folder, 'package.json'), '{"type":"module","private":true}');
  const needed = npm(ROOT, 'ls', '--omit=dev', '--omit=optional', '--all', '--parseable').trim().split('\n');
  for (const path of needed.slice(1)) {
    const target = join(folder, relative(ROOT, path));
    mkdirSync(target, { recursive: true });
    cpSync(path, target, { recursive: true });
  }
  npm(
    folder,
    'install',
    '--offline',
    '--ignore-scripts',
    '--omit=optional',
    '--no-audit',
    `./${packed[0].filename}`,
  );
}

const USE = `import { verifyWebhook, WebhookError, type Verified } from 'plinth/verify-webhook';
const verify = (body: string, headers: Record<string, string>, secret: string): Verified =>
  verifyWebhook(body, headers, secret, { toleranceSeconds: 60 });
`;

t.test('an installed package verifies a message, with its types', async (t) => {
  install();
  const secret = newSecret();
  const timestamp = Math.floor(Date.now() / 1000);
  const headers = signWebhook({ id: 'm', timestamp, target: '/', body: '{}' }, [secret], secret);
  writeFileSync(
    join(folder, 'use.ts'),
    `${USE}console.log(verify('{}', ${JSON.stringify(headers)}, '${secret}').id);
try { verify('{"a":1}', ${JSON.stringify(headers)}, '${secret}'); } catch (error) {
  if (error instanceof WebhookError) console.log(error.code);
}`,
  );
  const options = ['--ignoreConfig', '--strict', '--module', 'nodenext', '--target', 'es2023'];
  node(TSC, ...options, '--lib', 'es2023,dom', 'use.ts');
  t.equal(node('use.js'), 'm\nBAD_SIGNATURE\n');
  writeFileSync(join(folder, 'misuse.ts'), `${USE}verify('{}', {}, 1);`);
  t.throws(() => node(TSC, ...options, '--noEmit', '--lib', 'es2023,dom', 'misuse.ts'));
});

t.test('the installed command runs', async (t) => {
  t.match(node('node_modules/plinth/dist/src/cli/plinth.js', 'help'), 'plinth verify-webhook');
});
