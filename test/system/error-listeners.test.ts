import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { emittersOf } from '../support/emitters.js';
import t from '../support/test.js';

const SRC = fileURLToPath(new URL('../../../src/', import.meta.url));

/** Emitters that have their listener elsewhere, by file and creator: the file that listens, or why no error is emitted. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'features/user-accounts/users-command.ts: createInterface': 'cli/io.ts',
  'pipeline/common-stages.ts: Readable': 'a body in memory, which nothing ends by an error',
  'pipeline/server.ts: createServer': 'process/listen.ts',
  'features/site/site-files.ts: createReadStream': 'the writer of responses, by `pipeline`',
  'features/transfer/input.ts: createReadStream':
    '`for await` and `pipeline` listen from the moment on in which the stream is created',
  'transport/body-stream.ts: Readable': 'a body in memory, which nothing ends by an error',
  'transport/codecs.ts: createBrotliCompress': '`pipeline` listens from its creation on',
  'transport/codecs.ts: createBrotliDecompress': 'transport/body-stream.ts',
  'transport/codecs.ts: createGunzip': 'transport/body-stream.ts',
  'transport/codecs.ts: createGzip': '`pipeline` listens from its creation on',
  'transport/codecs.ts: createInflate': 'transport/body-stream.ts',
  'transport/node-internals.ts: Readable': 'a stream that neither reads nor ends',
  'features/watch/watch.ts: createServer': 'process/listen.ts',
};

const sources = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => [name.replaceAll('\\', '/'), readFileSync(join(SRC, name), 'utf8')] as const);

t.test('each socket, server, stream and process has an error listener from its creation on', async (t) => {
  const emitters = sources.flatMap(([name, text]) =>
    emittersOf(name, text).map((emitter) => ({ name, ...emitter })),
  );
  t.ok(emitters.length >= 20, 'the scan finds them');
  const silent = emitters.filter(({ hasListener }) => !hasListener);
  const found = new Set(silent.map(({ name, creator }) => `${name}: ${creator}`));
  t.same([...found].sort(), Object.keys(ELSEWHERE).sort());
  for (const [name, where] of Object.entries(ELSEWHERE)) {
    const found = sources.find(([file]) => file === where);
    if (where.endsWith('.ts')) t.match(found?.[1], /\.on\('error'/, `${name}: ${where}`);
  }
});

t.test('the scan is about each emitter, however a file names and passes it', async (t) => {
  const rows: [text: string, expected: boolean[]][] = [
    ["net.connect(1).on('error', f);", [true]],
    ["net.connect(1).unref().on('error', f);", [true]],
    ["net.connect(1).on('close', f);", [false]],
    ["const a = net.connect(1); const b = net.connect(2); a.on('error', f);", [true, false]],
    // A second error has no listener.
    ["const a = net.connect(1); a.once('error', f);", [false]],
    // No declaration.
    ["const listen = (s) => s.on('error', f); listen(net.connect(1));", [false]],
    ["function listen(s) { s.on('error', f); } listen(net.connect(1));", [true]],
    ["function listen(x, s) { x.on('error', f); } listen(1, net.connect(1));", [false]],
    ["const s = net.connect(1); listen(s); function listen(a) { a.on('error', f); }", [true]],
    ["import { createServer as open } from 'node:https'; open();", [false]],
    ["import { createServer } from './own.js'; createServer();", []],
    [
      "import h from 'node:http'; import s from 'node:https'; const { request: open } = x ? s : h; open();",
      [false],
    ],
    ['const z = x ? zlib.createGzip() : zlib.createInflate(); z.on("error", f);', [true, true]],
    ["import { Readable } from 'node:stream'; Readable.from([]);", [false]],
    ["import { PassThrough } from 'node:stream'; new PassThrough();", [false]],
    ["import { createInterface } from 'node:readline/promises'; createInterface({});", [false]],
  ];
  const imports = "import net from 'node:net'; import * as zlib from 'node:zlib'; ";
  for (const [text, expected] of rows) {
    const found = emittersOf('a.ts', imports + text).map(({ hasListener }) => hasListener);
    t.same(found, expected, text);
  }
});

t.test('the pipes of a child have listeners as well', async (t) => {
  const piping = sources.filter(([, text]) => /stdio: [^\n]*'pipe'/.test(text));
  t.equal(piping.map(([name]) => name).join(), 'features/embedded/cluster.ts');
  for (const [name, text] of piping) {
    const pipes = /stdio: \[(.*?)\]/.exec(text)![1]!.split(', ');
    for (const [at, pipe] of ['stdin', 'stdout', 'stderr'].entries())
      if (pipes[at] === "'pipe'") t.match(text, `.${pipe}?.on('error'`, `${name}: ${pipe}`);
  }
});

t.test('the driver creates no socket of its own', async (t) => {
  const creating = sources.filter(([, text]) => / postgres\(\w/.test(text)).map(([name]) => name);
  t.same(creating, ['db/pool/postgres-patches.ts']);
  const connection = sources.find(([name]) => name === 'db/pool/connection.ts')![1];
  t.match(connection, /socket: \(\) => this\.#connect\(/);
});
