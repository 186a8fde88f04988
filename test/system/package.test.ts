import { execFileSync, execSync, spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { newSecret, signWebhook } from '../../src/features/webhooks/sign.js';
import { claimPort } from '../support/claimed-port.js';
import { folderOf } from '../support/folder.js';
import { blocksOf } from '../support/page-commands.js';
import { startProgram } from '../support/process.js';
import { send, testDatabase } from '../support/service.js';
import t from '../support/test.js';
import { until } from '../support/until.js';
import { words } from '../support/words.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const TSC = join(ROOT, 'node_modules/@typescript/native/lib/tsc.js');
const TYPE_ROOTS = join(ROOT, 'node_modules/@types');

const folder = folderOf(t);

const npm = (cwd: string, ...args: string[]) =>
  execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
const node = (...args: string[]) => execFileSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });

/** The description of an installed package in the lock file of npm. */
interface Installed {
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly devOptional?: boolean;
}

/** Files and folders of a checkout, of which package.json says which are packed. */
const CHECKOUT = words(`
  package.json README.md LICENSE collections docs schema sql src bench
`);

/**
 * Packs a copy of this checkout without its packages, all of which npm would read for seconds of CPU time. The script that npm
 * runs before begins with the build, which the tests have made.
 */
function pack(): string {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const [build, declare] = (scripts.prepack as string).split(' && ');
  if (build !== 'npm run --silent build') throw new Error(`the package is prepared by ${build}`);
  execSync(declare!, { cwd: ROOT, stdio: 'pipe' });
  const copy = join(folder, 'checkout');
  for (const name of [...CHECKOUT, 'dist/src', 'dist/bench', 'dist/types', 'dist/test/support'])
    cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  const args = ['--ignore-scripts', '--silent', '--json', `--pack-destination=${folder}`];
  return JSON.parse(npm(copy, 'pack', ...args))[0].filename;
}

/** Packs and installs Plinth without the network: the packages that it needs are copied from this checkout. */
function install(): void {
  const packed = pack();
  writeFileSync(join(folder, 'package.json'), '{"type":"module","private":true}');
  const lock = readFileSync(join(ROOT, 'node_modules/.package-lock.json'), 'utf8');
  const { packages } = JSON.parse(lock) as { packages: Record<string, Installed> };
  for (const [path, { dev, optional, devOptional }] of Object.entries(packages)) {
    if (dev || optional || devOptional) continue;
    mkdirSync(join(folder, path), { recursive: true });
    cpSync(join(ROOT, path), join(folder, path), { recursive: true });
  }
  npm(folder, 'install', '--offline', '--ignore-scripts', '--omit=optional', '--no-audit', `./${packed}`);
}

install();

const OPTIONS =
  '--ignoreConfig --strict --pretty false --module nodenext --target es2023 --lib es2023,dom'.split(' ');
const NODE_TYPES = ['--types', 'node', '--typeRoots', TYPE_ROOTS];

/** Compiles programs together. Returns the faults of their types, each as its file and line. */
function compile(files: readonly string[], ...options: string[]): string[] {
  const { stdout } = spawnSync(process.execPath, [TSC, ...OPTIONS, ...options, ...files], {
    cwd: folder,
    encoding: 'utf8',
  });
  return stdout.split(/\n(?=\S)/).flatMap((fault) => (fault === '' ? [] : [/^[^,]*/.exec(fault)![0]]));
}

const VERIFY = `import { verifyWebhook, WebhookError, type Verified } from 'plinth/verify-webhook';
const verify = (body: string, headers: Record<string, string>, secret: string): Verified =>
  verifyWebhook(body, headers, secret, { toleranceSeconds: 60 });
`;

t.test('it verifies a message, with its types', async (t) => {
  const secret = newSecret();
  const timestamp = Math.floor(Date.now() / 1000);
  const headers = signWebhook({ id: 'm', timestamp, target: '/', body: '{}' }, [secret]);
  writeFileSync(
    join(folder, 'use.ts'),
    `${VERIFY}console.log(verify('{}', ${JSON.stringify(headers)}, '${secret}').id);
try { verify('{"a":1}', ${JSON.stringify(headers)}, '${secret}'); } catch (error) {
  if (error instanceof WebhookError) console.log(error.code);
}`,
  );
  writeFileSync(join(folder, 'misuse.ts'), `${VERIFY}verify('{}', {}, 1);`);
  t.same(compile(['use.ts', 'misuse.ts']), ['misuse.ts(4']);
  t.equal(node('use.js'), 'm\nBAD_SIGNATURE\n');
});

t.test('npx plinth serve runs the service', async (t) => {
  t.match(node('node_modules/plinth/dist/src/cli/plinth.js', 'help'), 'verify-webhook');
  const env = { DATABASE_URL: await testDatabase(t, true), PORT: '0', HOME: folder, COLLECTIONS: '' };
  const service = startProgram(t, 'npx', ['--offline', 'plinth', 'serve'], env, folder);
  const url = await service.ready();
  t.match(service.stdout(), /collections {4}users, items, posts \(built in\)/);
  t.match(await send(url, 'POST', '/items', { body: { name: 'Lamp' } }), { status: 201 });
});

t.test('createPlinth runs the service in another program, with its types', async (t) => {
  const databaseUrl = await testDatabase(t);
  const program = `import { createServer } from 'node:http';
import { createPlinth, type Plinth } from 'plinth';
const plinth: Plinth = createPlinth({ databaseUrl: '${databaseUrl}', auth: 'none', mountPath: '/data' });
const server = createServer((req, res) => plinth.handler(req, res, () => res.end('mine')));
await plinth.start();
server.listen(0, '127.0.0.1', async () => {
  const { port } = server.address() as { port: number };
  const response = await fetch(\`http://127.0.0.1:\${port}/data/items?page=1\`);
  console.log(response.status, (await response.json() as { links: { self: string } }).links.self);
  await plinth.stop();
  server.close();
  server.closeAllConnections();
});
`;
  writeFileSync(join(folder, 'program.ts'), program);
  const misuses = [
    "createPlinth({ auth: 'key' });",
    "createPlinth({ port: '1' });",
    'createPlinth({}).restart();',
  ];
  writeFileSync(join(folder, 'wrong.ts'), `import { createPlinth } from 'plinth';\n${misuses.join('\n')}`);
  t.same(compile(['program.ts', 'wrong.ts'], ...NODE_TYPES), ['wrong.ts(2', 'wrong.ts(3', 'wrong.ts(4']);
  t.equal(node('program.js'), '200 /data/items?page=1&limit=20\n');
});

t.test('the program of docs/command.md runs as printed, but for its port', async (t) => {
  const example = blocksOf('docs/command.md').find(({ text }) => text.includes('createPlinth'))!.text;
  t.match(example, '.listen(3000)');
  const port = await claimPort(t);
  writeFileSync(join(folder, 'example.js'), example.replace('.listen(3000)', `.listen(${port})`));
  const env = { ...process.env, DATABASE_URL: await testDatabase(t) };
  const child = spawn(process.execPath, ['example.js'], { cwd: folder, env, stdio: 'inherit' });
  t.teardown(() => child.kill());
  const get = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
  const response = await until('it listens', () => get('/data/items').catch(() => undefined));
  t.equal(response.status, 200);
  t.equal(await (await get('/other')).text(), 'another page');
});

t.test('the package has what the service reads, and no sources of tests', async (t) => {
  const names = readdirSync(join(folder, 'node_modules/plinth'));
  for (const name of ['collections', 'dist', 'docs', 'schema', 'sql', 'README.md', 'LICENSE'])
    t.ok(names.includes(name), name);
  t.notOk(names.includes('test') || names.includes('src'));
  t.same(readdirSync(join(folder, 'node_modules/plinth/dist')).sort(), ['src', 'types']);
});
