import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startEmbedded } from '../../src/features/embedded/embedded.js';

/**
 * The files of src and their functions that a warm request runs, by V8's precise coverage: `node
 * dist/bench/suites/request-path.js [main.js of another build] [files|functions]` lists the files or the functions.
 */
const given = process.argv.slice(2);
const MAIN =
  given.find((each) => each.endsWith('.js')) ?? fileURLToPath(new URL('../../src/main.js', import.meta.url));
const LISTED = given.find((each) => each === 'files' || each === 'functions');
const HOOK = new URL('../harness/coverage-hook.js', import.meta.url).href;
/** Requests before the ones that are counted. */
const WARM = 20;
/** Counted requests: a function belongs to the request if all of them run it, and the timers of the service may run others. */
const COUNTED = 5;

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
}

async function measure(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-path-'));
  const { url, stop } = await startEmbedded({ dataDir: join(folder, 'data'), settings: ['fsync=off'] });
  const env = {
    ...process.env,
    DATABASE_URL: url,
    MIGRATE: 'auto',
    PORT: '0',
    HOST: '127.0.0.1',
    AUTH: 'none',
  };
  const service = spawn(process.execPath, ['--import', HOOK, MAIN], {
    env,
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  try {
    const base = await addressOf(service);
    const user = { method: 'POST', path: '/users', body: '{"email":"ann@example.org","name":"Ann"}' };
    const { id } = (await (await send(base, user)).json()) as { id: string };
    const item = { method: 'POST', path: '/items', body: '{"name":"Desk lamp","price":12.5}' };
    const rows: readonly (readonly [string, Sent])[] = [
      ['GET /users/<id>', { method: 'GET', path: `/users/${id}` }],
      ['POST /items', item],
      [
        'GET /items?filter[price][gte]=5&sort=-price&page=2',
        { method: 'GET', path: '/items?filter[price][gte]=5&sort=-price&page=2' },
      ],
      ['PATCH /users/<id>', { method: 'PATCH', path: `/users/${id}`, body: '{"age":42}' }],
    ];
    for (const [label, request] of rows) {
      const called = await calledBy(service, base, request);
      const files = [...new Set(called.map((each) => each.split(':', 1)[0]!))].sort();
      process.stdout.write(`${label}: ${files.length} files, ${called.length} functions\n`);
      const listed = LISTED === 'functions' ? called.toSorted() : LISTED ? files : [];
      process.stdout.write(listed.map((each) => `  ${each}\n`).join(''));
    }
  } finally {
    service.kill('SIGTERM');
    await once(service, 'exit');
    await stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The functions that each of some equal requests runs. */
async function calledBy(service: ChildProcess, base: string, request: Sent): Promise<string[]> {
  for (let turn = 0; turn < WARM; turn++) await send(base, request);
  let common: string[] | undefined;
  for (let turn = 0; turn < COUNTED; turn++) {
    await called(service);
    await send(base, request);
    const now = new Set(await called(service));
    common = (common ?? [...now]).filter((each) => now.has(each));
  }
  return common!;
}

async function called(service: ChildProcess): Promise<readonly string[]> {
  service.send('take');
  const [found] = (await once(service, 'message')) as [readonly string[]];
  return found;
}

async function send(base: string, { method, path, body }: Sent): Promise<Response> {
  const response = await fetch(base + path, {
    method,
    ...(body !== undefined && { body, headers: { 'content-type': 'application/json' } }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  if (method === 'GET') await response.arrayBuffer();
  return response;
}

/** The address that a service prints when it listens. */
async function addressOf({ stdout }: ChildProcess): Promise<string> {
  let text = '';
  for await (const part of stdout!) {
    text += String(part);
    const [, found] = /(http:\/\/127\.0\.0\.1:\d+)/.exec(text) ?? [];
    if (found !== undefined) {
      stdout!.resume();
      return found;
    }
  }
  throw new Error(`the service ended: ${text}`);
}

await measure();
