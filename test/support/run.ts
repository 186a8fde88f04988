import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CITUS_URL } from './citus.js';
import { contractGaps } from './contract.js';
import { CLUSTER } from './migrated-folder.js';
import { errorGaps } from './provoked-errors.js';
import { writeRenamed } from './renamed.js';
import { readArguments } from './runner/arguments.js';
import { CONTROL, openControl } from './runner/control.js';
import { ROOT } from './runner/files.js';
import { NODE_OPTIONS } from './runner/node-options.js';
import { endWithParent, exitBy } from './runner/parent.js';
import { Progress } from './runner/progress.js';
import { FileQueue } from './runner/queue.js';
import { startServers, TEMPLATE, TEMPLATE_RENAMED, TEMPLATE_UNDECLARED } from './runner/servers.js';
import { THOROUGH } from './thorough.js';

/**
 * Runs tests for .ci/test.js: `[SET]... [FILE]... [--seed=N] [--jobs=N] [--repeat=N] [--renamed] [OPTION OF TAP]...`. Without a set
 * and a file, the set of `npm test`. Files are named by their source, `test/api/preconditions.test.ts`. A few workers
 * take the files in a random order; each worker has a PostgreSQL of its own.
 */
const { files, tapOptions, seed, jobs, isWhole, thoroughness, withRenamed } = readArguments(
  process.argv.slice(2),
);
if (CITUS_URL === '' && process.argv.includes('citus')) {
  process.stdout.write('# SKIP the tests on Citus: CITUS_TEST_URL names no cluster\n');
  process.exit(0);
}
/** The option of tap that asks for its output as it is. */
const TAP_OUTPUT = '--reporter=tap';
/** Starts of fewer files take less time than a bundle. */
const MIN_FILES_TO_BUNDLE = 20;
/** The processes that run. When they have ended, the servers are stopped and their folders removed. */
const children = new Set<ChildProcess>();
endWithParent((signal) => {
  if (children.size === 0) exitBy(signal);
  for (const child of children) child.kill(signal);
});
const workers = Math.min(jobs ?? availableParallelism() + 2, files.length);
const folders = ['errors', 'contract'].map((name) => mkdtempSync(join(tmpdir(), `plinth-${name}-`)));
const [errorsFolder, contractFolder] = folders as [string, string];
if (withRenamed) writeRenamed();
const [servers, bundled] = await Promise.all([
  startServers(workers, withRenamed),
  bundle(),
  workers > 1 ? buildTap() : undefined,
]);
const progress = new Progress(files.length, seed);
const queue = new FileQueue(files);
const control = await openControl({
  next: () => queue.next(),
  finished: (file) => {
    progress.finished(file);
    queue.finished(file);
    servers.release(file.server);
  },
  database: (server, template) => servers.database(server, template),
});
let code = 1;
try {
  const urls = servers.urls.map((url, index) => [`PLINTH_TEST_URL_${index}`, url] as const);
  code = await runWorkers(tapOptions, {
    ...Object.fromEntries(urls),
    [CONTROL]: control.url,
    PLINTH_SEED: String(seed),
    ...(thoroughness === undefined ? {} : { [THOROUGH]: thoroughness }),
    ...(bundled === undefined ? {} : { PLINTH_TEST_BUNDLED: bundled }),
    ...(servers.cluster === undefined ? {} : { [CLUSTER]: servers.cluster }),
    PLINTH_TEST_TEMPLATE: TEMPLATE,
    PLINTH_TEST_TEMPLATE_UNDECLARED: TEMPLATE_UNDECLARED,
    PLINTH_TEST_TEMPLATE_RENAMED: TEMPLATE_RENAMED,
    PLINTH_TEST_ERRORS: errorsFolder,
    PLINTH_TEST_CONTRACT: contractFolder,
  });
  if (queue.left.length > 0) code ||= 1;
  for (const { name } of queue.left) process.stderr.write(`gap: ${name} has not run\n`);
  const gaps = isWhole ? [...errorGaps(errorsFolder), ...contractGaps(contractFolder)] : [];
  for (const gap of gaps) process.stderr.write(`gap: ${gap}\n`);
  if (gaps.length > 0) code ||= 1;
} finally {
  control.close();
  await servers.stop();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
}
progress.end();
process.exitCode = code;

/**
 * Runs the workers. tap's command, which would parse all that they print, runs them only if it has options. Each worker prints to
 * a file beside its own; the output of several workers is printed when they have ended.
 */
async function runWorkers(options: readonly string[], env: Record<string, string>): Promise<number> {
  const files = writeWorkers();
  if (options.some((option) => option !== TAP_OUTPUT)) {
    const nodeOptions = NODE_OPTIONS.map((option) => `--node-arg=${option}`);
    return runTap([...options, ...nodeOptions, `--jobs=${workers}`, ...files], env, 'inherit');
  }
  const isTapWanted = options.length > 0;
  const codes = files.map(async (file) => {
    const args = ['--enable-source-maps', ...NODE_OPTIONS, file];
    // Without tap's command, .taprc has no effect: tap would measure coverage in each process that it starts for a file, in
    // place of NODE_V8_COVERAGE. The timeout is in seconds; files have timeouts of their own.
    const all = { ...env, _TAPJS_PROCESSINFO_COVERAGE_: '0', TAP_TIMEOUT: '3600' };
    if (isTapWanted && files.length === 1) return runNode(args, all, 'inherit');
    const output = openSync(`${file}.tap`, 'w');
    const code = await runNode(args, all, output);
    closeSync(output);
    if (code !== 0 && !isTapWanted) process.stderr.write(`# all that the worker has printed: ${file}.tap\n`);
    return code;
  });
  const code = Math.max(...(await Promise.all(codes)));
  if (isTapWanted && files.length > 1) for (const file of files) await printed(readFileSync(`${file}.tap`));
  return code;
}

/** Prints to a reader that may be slow, so that a line of another stream does not get into its midst. */
function printed(output: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) =>
    process.stdout.write(output, (error) => (error ? reject(error) : resolve())),
  );
}

/** Builds tap without the plugins that .taprc excludes: each worker would load them. */
async function buildTap(): Promise<void> {
  const built = readFileSync(fileURLToPath(import.meta.resolve('@tapjs/test/test-built')), 'utf8');
  if (built.includes('@tapjs/typescript')) await runTap(['build'], {}, 'ignore');
}

/** Makes the bundle that the tests of many files start. Resolves to its file. Coverage is that of the files of src. */
async function bundle(): Promise<string | undefined> {
  if (files.length < MIN_FILES_TO_BUNDLE || process.env.NODE_V8_COVERAGE !== undefined) return undefined;
  const folder = join(ROOT, 'dist/test-bundle');
  const code = await runNode([join(ROOT, '.ci/bundle.js'), folder], {}, 'inherit');
  if (code !== 0) throw new Error('the bundle cannot be made');
  return join(folder, 'start.cjs');
}

/** A file for each worker, since tap runs a file once. */
function writeWorkers(): string[] {
  const folder = join(ROOT, 'dist/test-workers');
  mkdirSync(folder, { recursive: true });
  return Array.from({ length: workers }, (_, server) => {
    const file = join(folder, `worker-${server}.js`);
    const text = `import { runFiles } from '../test/support/runner/worker.js';\nawait runFiles(${server});\n`;
    writeFileSync(file, text);
    return file;
  });
}

function runTap(args: readonly string[], env: Record<string, string>, stdout: 'inherit' | 'ignore') {
  return runNode([join(ROOT, 'node_modules/tap/dist/esm/run.mjs'), ...args], env, stdout);
}

async function runNode(
  args: readonly string[],
  env: Record<string, string>,
  stdout: 'inherit' | 'ignore' | number,
): Promise<number> {
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ['inherit', stdout, 'inherit'],
  });
  children.add(child);
  const [exitCode, endSignal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  children.delete(child);
  // A process that crashes fails no assertion: this line alone says why the run fails.
  if (exitCode !== 0) process.stderr.write(`# failed: ${args.at(-1)} ended with ${exitCode ?? endSignal}\n`);
  return exitCode ?? 1;
}
