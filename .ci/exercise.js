import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startEmbedded } from '../dist/src/features/embedded/embedded.js';
import { claimPort } from '../dist/test/support/claimed-port.js';

const PATIENCE_MS = 60_000;
const tell = (line) => process.stdout.write(`${line}\n`);

/**
 * Runs the lines of a parsed Dockerfile: each stage is a folder. The last one's CMD runs in its folder as the image
 * would: as process 1 of its user in a root of its own that is read-only and holds nothing but the image's files, node
 * and bash, where that may be done here; else as a process of the folder, and it is said so.
 */
export async function exercise(context, stages) {
  const work = mkdtempSync(join(tmpdir(), 'plinth-image-'));
  try {
    const made = new Map();
    for (const stage of stages) made.set(stage.name, make(context, join(work, stage.name), stage, made));
    await runImage([...made.values()].at(-1), work);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Runs a stage's lines in its folder; gives what is to be run there. */
function make(context, root, { instructions }, made) {
  const image = { root, cwd: '/', env: {}, of: {} };
  mkdirSync(root, { recursive: true });
  for (const { line, name, text, flags, exec } of instructions) {
    tell(`${line}: ${name} ${text}`);
    if (name === 'WORKDIR') {
      image.cwd = text;
      mkdirSync(join(root, text), { recursive: true });
    } else if (name === 'ENV') for (const pair of text.split(/\s+/)) set(image.env, pair);
    else if (name === 'COPY')
      copy(flags.from === undefined ? context : made.get(flags.from).root, image, text, flags);
    else if (name === 'RUN') run(image, exec);
    else image.of[name] = { text, exec, flags };
  }
  return image;
}

function set(env, pair) {
  const at = pair.indexOf('=');
  env[pair.slice(0, at)] = pair.slice(at + 1);
}

/** As the engine does: of a folder its content, several files into a folder. */
function copy(from, { root, cwd }, text, flags) {
  const words = text.split(/\s+/);
  const target = words.pop();
  const into = join(root, target.startsWith('/') ? '' : cwd, target);
  const several = words.length > 1 || target.endsWith('/');
  for (const word of words) {
    const source = join(from, word);
    if (flags.from === undefined && isIgnored(from, source))
      throw new Error(`COPY ${word}: .dockerignore leaves it out`);
    const filter = (path) => flags.from !== undefined || !isIgnored(from, path);
    const to = several && !statSync(source).isDirectory() ? join(into, basename(source)) : into;
    mkdirSync(dirname(to), { recursive: true });
    cpSync(source, to, { recursive: true, filter });
  }
}

function isIgnored(context, path) {
  const name = relative(context, path);
  const patterns = readFileSync(join(context, '.dockerignore'), 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  return patterns.some((pattern) => name === pattern || name.startsWith(`${pattern}/`));
}

function run({ root, cwd, env }, [program, ...args]) {
  execFileSync(program, args, {
    cwd: join(root, cwd),
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

async function runImage(image, work) {
  const missing = whyNotConfined();
  if (missing !== undefined) tell(`skipped: read-only root, user, process 1: ${missing}`);
  else for (const program of [process.execPath, '/bin/bash']) addProgram(image.root, program);
  const start = (exec, env) => (missing === undefined ? confined(image, exec, env) : plain(image, exec, env));
  const PORT = String(await claimPort());
  const health = async (env) => (await start(image.of.HEALTHCHECK.exec, env)).ended;

  const without = start(image.of.CMD.exec, { PORT, AUTH: 'none' });
  expect('it ends without DATABASE_URL', await without.ended, 69);
  expect('it says so', /set DATABASE_URL/.test(without.stderr()), true);

  const database = await startEmbedded({ dataDir: join(work, 'data') });
  try {
    for (const WORKERS of ['1', '2']) {
      const env = { PORT, AUTH: 'none', DATABASE_URL: database.url, WORKERS };
      expect('HEALTHCHECK before it runs', await health(env), 1);
      const service = start(image.of.CMD.exec, env);
      await service.says(/Plinth is ready/);
      expect('HEALTHCHECK while it runs', await health(env), 0);
      const response = await fetch(`http://127.0.0.1:${PORT}/users?limit=1`);
      expect('a request gets a response', response.status, 200);
      await response.arrayBuffer();
      if (missing === undefined) expectConfined(service.pid());
      process.kill(service.pid(), image.of.STOPSIGNAL.text);
      expect(`it ends on ${image.of.STOPSIGNAL.text}`, await service.ended, 0);
    }
  } finally {
    await database.stop();
  }
}

function expect(what, found, wanted) {
  if (found !== wanted) throw new Error(`${what}: ${found}, not ${wanted}`);
  tell(`ok: ${what}: ${found}`);
}

/** It is process 1, of the image's user, in a root that it cannot write to. */
function expectConfined(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const field = (name) => new RegExp(`^${name}:\\s+(.*)$`, 'm').exec(status)?.[1].split(/\s+/);
  expect('process number', field('NSpid')?.at(-1), '1');
  expect('user', field('Uid')?.[0], '1000');
  expect('capabilities', field('CapEff')?.[0], '0000000000000000');
  const mounts = readFileSync(`/proc/${pid}/mountinfo`, 'utf8').trim().split('\n');
  const root = mounts.map((line) => line.split(' ')).find((fields) => fields[4] === '/');
  expect('root file system', root?.[5].split(',').includes('ro'), true);
}

function whyNotConfined() {
  if (process.platform !== 'linux') return 'this is no Linux';
  if (process.getuid() !== 0) return 'this is not root';
  try {
    execFileSync('unshare', ['--mount', '--pid', '--fork', 'mount', '--bind', tmpdir(), tmpdir()], {
      stdio: 'pipe',
    });
  } catch (error) {
    return `no namespaces: ${String(error.stderr ?? error.message).trim()}`;
  }
}

/** Puts a program and the libraries that it is linked with into a root. */
function addProgram(root, program) {
  const linked = execFileSync('ldd', [program], { encoding: 'utf8' });
  const libraries = [...linked.matchAll(/(\/\S+) \(0x/g)].map(([, path]) => path);
  for (const path of libraries) cpSync(path, join(root, path), { dereference: true });
  cpSync(program, join(root, 'usr/local/bin', basename(program)), { dereference: true });
  for (const name of ['bin/sh', 'usr/bin/env'])
    if (existsSync(join(root, name))) throw new Error(`there is a ${name}`);
}

function confined({ root, cwd, env, of }, [program, ...args], more) {
  const [uid, gid = uid] = of.USER.text.split(':');
  const script = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"';
  const enter = [
    'unshare',
    '--pid',
    '--fork',
    `--root=${root}`,
    `--wd=${cwd}`,
    `--setgid=${gid}`,
    `--setuid=${uid}`,
  ];
  const command = ['--mount', 'sh', '-c', script, root, ...enter, `/usr/local/bin/${program}`, ...args];
  return follow(spawn('unshare', command, { env: { PATH: process.env.PATH, ...env, ...more } }), true);
}

function plain({ root, cwd, env }, [program, ...args], more) {
  const options = { cwd: join(root, cwd), env: { PATH: process.env.PATH, ...env, ...more } };
  return follow(spawn(program, args, options), false);
}

/** A process that runs, or the one that it forked. */
function follow(child, forked) {
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (data) => (stdout += data));
  child.stderr.on('data', (data) => (stderr += data));
  const ended = once(child, 'close').then(([code, signal]) => code ?? signal);
  const pid = () =>
    forked ? Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim()) : child.pid;
  process.once('exit', () => child.kill('SIGKILL'));
  return {
    ended,
    pid,
    stderr: () => stderr,
    says: async (pattern) => {
      const end = Date.now() + PATIENCE_MS;
      while (!pattern.test(stdout)) {
        if (child.exitCode !== null || Date.now() > end) throw new Error(`it does not start: ${stderr}`);
        await sleep(20);
      }
    },
  };
}
