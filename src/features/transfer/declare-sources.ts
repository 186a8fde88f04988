import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileOf } from '../../cli/io.js';
import { type Config, ownPathsOf } from '../../config/config.js';
import { checkDeclarations } from '../../declarations/check-declarations.js';
import { resourcesOf } from '../../declarations/load-declarations.js';
import { readDeclarations } from '../../declarations/read-declarations.js';
import { ExitError } from '../../errors/exit-error.js';
import type { CollectionStats } from './collection-stats.js';
import type { ImportOptions } from './import-run.js';
import { infer } from './infer.js';
import type { Source } from './sources.js';

/**
 * Proposes declarations for the records of sources, with new names of fields by `rename`, and writes them to the folder, whose
 * existing files stay. Returns the sources with the names of their collections, and `undo`, which removes the new declarations;
 * undefined: there are none. Throws ExitError and DeclarationError; then nothing is written.
 */
export async function declareSources(
  found: readonly Source[],
  config: Config,
  { rename, report, dryRun }: ImportOptions,
): Promise<{ folder: string; sources: readonly Source[]; undo: (() => void) | undefined }> {
  const { io } = report;
  const { collections: folder = './collections' } = config;
  const path = fileOf(io, folder);
  const isNew = !existsSync(path);
  const files = isNew ? [] : readdirSync(path).filter((name) => /^[^_.].*\.json$/.test(name));
  const own = new Set(files.map((name) => name.slice(0, -'.json'.length)));
  const builtIn = resourcesOf(readDeclarations(undefined));
  const ownPaths = ownPathsOf(config);
  const proposals = await infer(found, { own, builtIn, ownPaths }, rename, report);
  report.showProgress('');
  const written: string[] = [];
  const undo = () => {
    for (const file of written) rmSync(file, { force: true });
    if (isNew && existsSync(path) && readdirSync(path).length === 0) rmSync(path, { recursive: true });
  };
  try {
    if (!dryRun) mkdirSync(path, { recursive: true });
    for (const { name, schema } of dryRun ? [] : proposals) {
      if (!schema) continue;
      const file = join(path, `${name}.json`);
      const content = { $schema: 'https://json-schema.org/draft/2020-12/schema', ...schema };
      writeFileSync(file, `${JSON.stringify(content, null, 2)}\n`, { flag: 'wx' });
      written.push(file);
    }
    if (!dryRun) checkDeclarations({ ...readDeclarations(folder, io.cwd), ownPaths });
  } catch (error) {
    undo();
    if (error instanceof ExitError) throw error;
    throw new ExitError(`the declarations cannot be written: ${(error as Error).message}`);
  }
  for (const proposal of proposals) report.note(...linesOf(folder, proposal, dryRun));
  // The collection of the users that sign in exists in any case.
  const gone = builtIn.filter(({ hasPasswords }) => !hasPasswords).map(({ name }) => name);
  if (isNew) report.note(`${folder} is new and does not declare ${gone.join(' and ')}: they are not served.`);
  const sources = proposals.map(({ source, name }) => ({ ...source, collection: name }));
  return { folder, sources, undo: written.length > 0 ? undo : undefined };
}

const RULE = 'names of collections have up to 40 of the characters a-z, 0-9 and _, and some are reserved';

function linesOf(
  folder: string,
  { source, name, fault, schema }: CollectionStats,
  dryRun: boolean,
): string[] {
  const [from, file] = [source.collection, join(folder, `${name}.json`)];
  const lines = from === name ? [] : [`${from} becomes ${name}: ${fault ?? RULE}.`];
  if (!schema) return [...lines, `${file} exists and stays as it is.`];
  const fields = Object.entries(schema.properties);
  const references = fields.flatMap(([field, { 'x-references': to }]) =>
    to ? [`${field} refers to ${to}`] : [],
  );
  const details = [`${fields.length} fields`, ...references].join(', ');
  return [...lines, `${file} ${dryRun ? 'would be' : 'is'} new: ${details}.`];
}
