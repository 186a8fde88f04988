import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Visitor } from '../features/issuer/visitor.js';
import { claimPort } from './claimed-port.js';
import { copyCluster } from './migrated-folder.js';
import { BUNDLED, dataFolder, startProgram } from './process.js';
import { readSettings } from './settings.js';
import type { Test } from './test.js';
import { until } from './until.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** A code block: a command, what it prints, settings, or a file whose name stands in the text before it. */
export interface Block {
  readonly language: string;
  readonly text: string;
  readonly before: string;
}

/** The headings of the second level. */
export const headingsOf = (page: string): string[] =>
  [...readFileSync(join(ROOT, page), 'utf8').matchAll(/^## (.*)$/gm)].map(([, heading]) => heading!);

/** The blocks of a page, or of its parts under some headings of the second level. */
export function blocksOf(page: string, headings: readonly string[] = headingsOf(page)): Block[] {
  const [begin = '', ...parts] = readFileSync(join(ROOT, page), 'utf8').split(/^## /m);
  const wanted = parts.filter((part) => headings.includes(part.slice(0, part.indexOf('\n'))));
  return blocksIn([begin, ...wanted].join('## '));
}

function blocksIn(text: string): Block[] {
  return [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map((found) => ({
    language: found[1]!,
    text: found[2]!,
    before: text.slice(0, found.index).split('\n\n').slice(-2).join(' '),
  }));
}

/** The file that a block is; undefined: it is none. */
const fileOf = ({ language, before }: Block): string | undefined =>
  language === 'json' ? /`([\w./-]+\.json)` (?:declares|has)/.exec(before)?.[1] : undefined;

/** The declarations under a heading of the second level, by file name. */
export function declarationsUnder(page: string, heading: string): Record<string, string> {
  const parts = readFileSync(join(ROOT, page), 'utf8').split(/^(?=## )/m);
  const part = parts.find((each) => each.startsWith(`## ${heading}\n`)) ?? '';
  const named = blocksIn(part).map((block) => [fileOf(block), block.text] as const);
  return Object.fromEntries(named.flatMap(([file, text]) => (file ? [[basename(file), text]] : [])));
}

/** Commands that are run elsewhere, or need what a test does not have. */
const ELSEWHERE: readonly RegExp[] = [
  // The continuous integration installs and tests, and runs .ci/docker; test/system/bundle.test.ts runs the bundle.
  /^npm ci && npm test$/m,
  /^npm run bundle$/m,
  /^node dist\/plinth\.cjs/m,
  /^docker /m,
  /^kubectl /m,
  /^sudo /m,
  // test/postgres-clusters/backup.test.ts.
  /^pg_dump /m,
  /^pgbackrest /m,
  // test/features/issuer/application.test.ts.
  /http\.server/m,
  // Benchmarks take minutes.
  /^npm run bench/m,
  /^node dist\/bench\//m,
  // test/system/package.test.ts installs the package, and starts it.
  /^npm install \.\/plinth-/m,
  // Packages of a registry.
  /^npm install --no-save/m,
  /^npx openapi-typescript/m,
];

/** The project is installed and built already. */
const BUILD = /^npm ci && |^npm run build\n/;

/**
 * The commands of a checkout, and how they run without npm, which reads all packages before each of them for seconds of CPU
 * time. The README runs each once as printed.
 */
const CHECKOUT: Readonly<Record<string, string>> = {
  'npm exec plinth --': 'plinth',
  'npm start': 'plinth serve',
};

const ANY = '[\\s\\S]*?';
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const MASKS: [what: RegExp, pattern: string][] = [
  [/\\\.\\\.\\\.\n?/g, ANY],
  [UUID, '([0-9a-f-]{36})'],
  [/20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\\\.\d{3}Z/g, '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z'],
  [/\n/g, `\\r?\\n(?:[\\w-]+: .*\\r?\\n)*`],
];

/** A pattern for what the page prints: ids and times are others, `...` is anything, and header fields may come between. */
function patternOf(printed: string): RegExp {
  const escaped = printed.trimEnd().replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  return new RegExp(MASKS.reduce((text, [what, pattern]) => text.replace(what, pattern), escaped));
}

interface PageOptions {
  /** The files of the project that the page's folder contains. */
  readonly copied?: readonly string[];
  /** Files of the folder besides. */
  readonly files?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  /** The URL of the database that the page's service and commands use; absent: an embedded one in the folder. */
  readonly databaseUrl?: string;
  /** Whether a service runs from the beginning. Its URL is given to `prepare`, which returns variables of the commands. */
  readonly prepare?: (url: string) => Promise<Record<string, string>>;
  /** The headings of the second level under which commands are run; absent: all. */
  readonly headings?: readonly string[];
  /** Whether the embedded database has its tables before the first command. */
  readonly isMigrated?: boolean;
  /** Whether a response with an error fails the command. */
  readonly strict?: boolean;
  /** The command that is run in place of a printed one. */
  readonly instead?: (command: string) => string;
}

/** Runs the commands of a page in order, as printed, and compares their output. Returns the URL of its service. */
export async function runPage(t: Test, page: string, options: PageOptions = {}): Promise<string> {
  const folder = await dataFolder(t);
  const port = String(await claimPort(t));
  const bin = layOut(folder, options);
  if (options.isMigrated) await copyCluster(join(folder, 'data'));
  const env: Record<string, string> = {
    PATH: `${bin}:${process.env.PATH}`,
    HOME: folder,
    PORT: port,
    npm_config_ignore_scripts: 'true',
    npm_config_update_notifier: 'false',
    ...(options.databaseUrl === undefined ? {} : { DATABASE_URL: options.databaseUrl }),
    ...options.env,
  };
  /** Ids that the page prints, and those that commands printed in their places. */
  const ids = new Map<string, string>();
  const here = (text: string) =>
    text
      .replaceAll(/(127\.0\.0\.1|localhost):3000/g, `$1:${port}`)
      .replaceAll('PORT=8080', `PORT=${port}`)
      .replaceAll(/postgres:\/\/\S+@db\/plinth/g, options.databaseUrl ?? '')
      .replaceAll(UUID, (id) => ids.get(id) ?? id);

  let service: ReturnType<typeof startProgram> | undefined;
  const stop = async () => {
    if (!service || service.child.exitCode !== null || service.child.signalCode !== null) return;
    process.kill(-service.child.pid!, 'SIGTERM');
    await service.ended;
  };
  t.teardown(stop);
  const start = async (command: string) => {
    await stop();
    service = startProgram(t, 'bash', ['-c', command], env, folder);
    await service.ready();
    return service.stdout();
  };
  /** Commands that end only when they are interrupted. */
  const watch = async (command: string) => {
    const endless = startProgram(t, 'bash', ['-c', command], env, folder);
    await until(`${command} prints something`, () => endless.stdout() !== '');
    return endless.stdout();
  };
  const run = async (command: string) => {
    const child = spawn('bash', ['-c', command], { cwd: folder, env });
    let out = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        out += chunk;
        const [, url] = /Open in a browser: (\S+)/.exec(chunk) ?? [];
        if (url !== undefined) void allow(port, url);
      });
    const [code] = (await once(child, 'close')) as [number];
    t.equal(code, 0, `${page}: ${command}${out}`);
    return out;
  };

  /** The output of the last command; undefined: it was run elsewhere. */
  let printed: string | undefined;
  let client = '';
  const compare = (expected: string, printed: string) => {
    const found = patternOf(here(expected)).exec(printed);
    t.ok(found, `what it prints: ${expected}instead of ${printed}`);
    for (const [at, id] of [...here(expected).matchAll(UUID)].entries())
      ids.set(id[0], found?.[at + 1] ?? '');
  };
  const asPrinted = new Set(page === 'README.md' ? Object.keys(CHECKOUT) : []);
  const perform = async (printed: string) => {
    const command = printed.replaceAll(/npm exec plinth --|npm start/g, (form) =>
      asPrinted.delete(form) ? form : CHECKOUT[form]!,
    );
    if (/(npm start|^plinth|plinth (start|serve))$/m.test(command)) return start(command);
    if (/curl -g?N|webhooks listen$/m.test(command)) return watch(command);
    return run(command.replace('--client ID', `--client ${client}`));
  };
  if (options.prepare) {
    await start('plinth serve');
    Object.assign(env, await options.prepare(`http://127.0.0.1:${port}`));
  }
  for (const block of blocksOf(page, options.headings)) {
    const { language, text, before } = block;
    const file = fileOf(block);
    if (language === 'sh') {
      printed = undefined;
      if (ELSEWHERE.some((pattern) => pattern.test(text))) continue;
      printed = await perform(here((options.instead ?? String)(text.replace(BUILD, ''))));
      client = [...printed.matchAll(/^id: +(\S+)$/gm)].at(-1)?.[1] ?? client;
      env.KEY = /^key: +(\S+)$/m.exec(printed)?.[1] ?? env.KEY ?? '';
    } else if (language === 'properties') {
      t.doesNotThrow(() => readSettings(settingsIn(text)), `${page}: ${text}`);
    } else if (file !== undefined) {
      mkdirSync(join(folder, dirname(file)), { recursive: true });
      writeFileSync(join(folder, file), text);
    } else if (printed !== undefined && isOutput(before)) compare(text, printed);
  }
  return `http://127.0.0.1:${port}`;
}

/** Whether the block after this text is what a command printed: nothing but the command's block stands between. */
const isOutput = (before: string) => /```$/.test(before.trimEnd());

/** Fills the folder of a page. Returns the folder with the command `plinth`. */
function layOut(folder: string, { copied = [], files = {}, strict = false }: PageOptions): string {
  for (const name of copied) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  // Without the packages, which the program finds beside its own files: npm would read all of them before each command.
  for (const name of ['dist', 'test']) symlinkSync(join(ROOT, name), join(folder, name));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  if (strict) writeFileSync(join(folder, '.curlrc'), 'fail-with-body\nsilent\n');
  const bin = join(folder, '.bin');
  mkdirSync(bin);
  const program = BUNDLED ?? join(ROOT, 'dist/src/cli/plinth.js');
  const script = `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`;
  writeFileSync(join(bin, 'plinth'), script, { mode: 0o755 });
  return bin;
}

/** Signs in and allows what the application requests, as a person with a browser would. */
async function allow(port: string, url: string): Promise<void> {
  const visitor = new Visitor(`http://127.0.0.1:${port}`);
  const form = await visitor.open(url);
  const fields = { email: 'ann@example.org', password: 'correct horse battery staple', action: 'sign-in' };
  const page = await visitor.submit(await visitor.submit(form, fields), { action: 'allow' });
  await fetch(page.url);
}

/** Lines of a file `.env`. */
function settingsIn(text: string): Record<string, string> {
  const lines = [...text.matchAll(/^(\w+)='?(.*?)'?$/gm)];
  return Object.fromEntries(lines.map(([, name, value]) => [name!, value!]));
}
