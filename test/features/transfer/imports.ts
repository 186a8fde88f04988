import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { declare } from '../../support/collections.js';
import { plinth } from '../../support/command.js';
import { folderOf } from '../../support/folder.js';
import { testService, undeclaredDatabase } from '../../support/service.js';
import type { Test } from '../../support/test.js';

/** Content of a file: text, bytes, or a value as JSON; of NDJSON, each record on a line. */
function textOf(name: string, content: unknown): string | Buffer {
  if (typeof content === 'string' || Buffer.isBuffer(content)) return content;
  if (!name.endsWith('.ndjson')) return JSON.stringify(content);
  return (content as unknown[]).map((each) => `${JSON.stringify(each)}\n`).join('');
}

/** A folder in which commands run with these settings. */
function commandsIn(t: Test, env: Record<string, string>) {
  const cwd = folderOf(t);
  /** Writes a file, and returns its name. */
  const put = (name: string, content: unknown): string => {
    writeFileSync(join(cwd, name), textOf(name, content));
    return name;
  };
  const read = (name: string) => readFileSync(join(cwd, name), 'utf8');
  const run = (...args: string[]) => plinth(t, args, env, { cwd });
  /** Imports files; further text is the standard input. */
  const load = (args: readonly string[], input = '') => plinth(t, ['import', ...args], env, { cwd, input });
  return { cwd, env, put, read, run, load };
}

/** A service with these declarations, or the built-in ones, and commands with its settings. */
export async function importing(
  t: Test,
  declarations?: Readonly<Record<string, unknown>>,
  settings: Record<string, string> = {},
) {
  const declared: Record<string, string> = declarations ? { COLLECTIONS: declare(t, declarations) } : {};
  const service = await testService(t, {
    ...declared,
    ...(declarations && { MIGRATE: 'auto' }),
    ...settings,
  });
  const env = { DATABASE_URL: service.databaseUrl, ...declared, ...settings };
  const all = async (path: string) => (await service.send('GET', path)).json;
  return { ...service, ...commandsIn(t, env), all };
}

/** A database without declarations, and commands that infer some from these files. */
export async function inferring(t: Test, files: Readonly<Record<string, unknown>> = {}) {
  const DATABASE_URL = await undeclaredDatabase(t);
  const commands = commandsIn(t, { DATABASE_URL });
  for (const [name, content] of Object.entries(files)) commands.put(name, content);
  const COLLECTIONS = join(commands.cwd, 'collections');
  const infer = (...args: string[]) => commands.load([...args, '--infer']);
  const declared = (name: string) => JSON.parse(commands.read(`collections/${name}.json`));
  const serve = () => testService(t, { DATABASE_URL, COLLECTIONS });
  return { ...commands, DATABASE_URL, COLLECTIONS, infer, declared, serve };
}
