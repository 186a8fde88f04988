import { setFlagsFromString } from 'node:v8';
import { parse } from '../../cli/arguments.js';
import { UsageError } from '../../cli/exit.js';
import { configOf, fileOf, type Io } from '../../cli/io.js';
import type { Config } from '../../config/config.js';
import type { ExitCode } from '../../exit-error.js';
import { hashOnAllCores } from '../../passwords/password-queue.js';
import { COMMANDS } from './commands.js';
import { delimiterOf } from './csv-header.js';
import { declareSources } from './declare-sources.js';
import type { OnConflict } from './id-conflicts.js';
import { importInto, type LoadOptions } from './import-into.js';
import { ImportReport } from './import-report.js';
import { openInput } from './input.js';
import { ImportProgress } from './progress-line.js';
import { type Source, sourcesOf } from './sources.js';

interface Options extends LoadOptions {
  readonly file: string;
  readonly as: string | undefined;
  readonly delimiter: number | undefined;
}

/** Loads the records of a file. Throws ExitError; refused records are printed, and make the exit code that it returns 1. */
export async function importCommand(args: string[], io: Io): Promise<ExitCode> {
  const options = readOptions(args, io);
  const { file, infer } = options;
  const input = await openInput(file === '-' ? io.stdin : { file: fileOf(io, file), name: file });
  try {
    const onOther = (name: string) => options.report.note(`${name} is not an array of records: left out.`);
    const found = await sourcesOf(input, options.as, {
      delimiter: options.delimiter,
      onOther: infer ? onOther : undefined,
    });
    if (io.process) {
      io.process.exitOnSignals();
      hashOnAllCores();
      // Batches die young. A larger space for them takes memory and saves no time.
      setFlagsFromString('--semi-space-growth-factor=1');
    }
    const config = configOf(io);
    const load = { ...options, digest: input.digest };
    if (!infer) return await importInto(config, found, load);
    return await declareAndImport(config, found, load);
  } finally {
    input.close();
  }
}

/** Declares the collections of the sources and imports them. If nothing is stored, no declaration and no table remains. */
async function declareAndImport(
  config: Config,
  found: readonly Source[],
  options: LoadOptions & { readonly digest: string },
): Promise<ExitCode> {
  const { io, rename, report, dryRun } = options;
  const progress = new ImportProgress(io);
  const onProgress = (line: string) => progress.show(line, true);
  const declared = await declareSources(io, found, rename, config.collections, onProgress, report, dryRun);
  progress.clear();
  if (dryRun) {
    report.end([]);
    return 0;
  }
  const own = { ...config, collections: declared.folder };
  return await importInto(own, declared.sources, { ...options, inferred: declared });
}

/** Throws UsageError. */
function readOptions(args: string[], io: Io): Options {
  const { values, positionals } = parse(COMMANDS, 'import', '', args);
  const [file, ...rest] = positionals.toReversed();
  const names = values.as === undefined ? rest : [...rest, values.as];
  if (file === undefined || names.length > 1) throw new UsageError('name one file', 'import');
  const renames = (values.rename ?? []).map((text): [string, string] => {
    const [, from, to] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
    if (from === undefined || to === undefined)
      throw new UsageError(`--rename must be FROM=TO, not ${text}`, 'import');
    return [from, to];
  });
  const { strict, resume, infer, 'dry-run': dryRun, 'on-conflict': conflict } = values;
  if (resume && dryRun)
    throw new UsageError('--dry-run stores nothing that --resume could continue', 'import');
  const delimiter = values.delimiter === undefined ? undefined : delimiterOf(values.delimiter);
  if (values.delimiter !== undefined && delimiter === undefined)
    throw new UsageError(`--delimiter must be one character, or tab, not ${values.delimiter}`, 'import');
  const report = new ImportReport(io, values.json, dryRun);
  return {
    io,
    file,
    as: names[0],
    strict,
    resume,
    infer,
    delimiter,
    keepIds: values['keep-ids'] || conflict !== undefined ? true : undefined,
    onConflict: (conflict ?? 'fail') as OnConflict,
    dryRun,
    rename: new Map(renames),
    report,
  };
}
