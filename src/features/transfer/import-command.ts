import { parse as parsePath } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { parse } from '../../cli/arguments.js';
import { configOf, fileOf, InputError, type Io, UsageError } from '../../cli/io.js';
import type { ExitCode } from '../../errors/exit-error.js';
import { hashOnAllCores } from '../../passwords/password-queue.js';
import { COMMANDS } from './commands.js';
import { declareSources } from './declare-sources.js';
import type { OnConflict } from './id-conflicts.js';
import { importInto } from './import-into.js';
import { ImportReport } from './import-report.js';
import type { ImportOptions } from './import-run.js';
import { type Input, openInput } from './input.js';
import { type Source, type SourceOptions, sourcesOf } from './sources.js';

/** The arguments of the command. */
interface Arguments {
  readonly files: readonly NamedFile[];
  readonly infer: boolean;
  readonly options: ImportOptions;
}

/** A file of an import. `as`: the collection of its records; `fallback`: that of a file which names none. */
interface NamedFile extends Pick<SourceOptions, 'as' | 'fallback'> {
  readonly file: string;
}

/** Loads the records of files. Throws ExitError; refused records are printed, and make the exit code that it returns 1. */
export async function importCommand(args: string[], io: Io): Promise<ExitCode> {
  const given = readArguments(args, io);
  const { files, infer, options } = given;
  const inputs: Input[] = [];
  try {
    for (const { file } of files)
      inputs.push(await openInput(file === '-' ? io.stdin : { file: fileOf(io, file), name: file }));
    const found = await sourcesIn(inputs, given);
    if (io.process) {
      io.process.exitOnSignals();
      hashOnAllCores();
      // Batches die young. A larger space for them takes memory and saves no time.
      setFlagsFromString('--semi-space-growth-factor=1');
    }
    const config = configOf(io);
    if (!infer) return await importInto(config, found, options);
    const declared = await declareSources(found, io, config.collections, options);
    const { folder: collections, sources } = declared;
    if (!options.dryRun) return await importInto({ ...config, collections }, sources, options, declared);
    options.report.end();
    return 0;
  } finally {
    for (const input of inputs) input.close();
  }
}

/** The records of all files, by collection. Throws InputError. */
async function sourcesIn(inputs: readonly Input[], { files, infer, options }: Arguments): Promise<Source[]> {
  const onOther = (name: string) => options.report.note(`${name} is not an array of records: left out.`);
  const all = new Map<string, Source>();
  for (const [at, input] of inputs.entries()) {
    const given = { ...files[at]!, onOther: infer ? onOther : undefined };
    for (const source of await sourcesOf(input, given)) {
      const other = all.get(source.collection)?.input;
      if (other && other !== input)
        throw new InputError(`${other.name} and ${input.name} both hold records of ${source.collection}`);
      all.set(source.collection, source);
    }
  }
  return [...all.values()];
}

/** Throws UsageError. */
function readArguments(args: string[], io: Io): Arguments {
  const { values, positionals } = parse(COMMANDS, 'import', '', args);
  const files = filesOf(positionals, values.as);
  const pairsOf = (option: 'rename' | 'lookup', form: string, pattern: RegExp) =>
    (values[option] ?? []).map((text) => {
      const [, ...parts] = pattern.exec(text) ?? [];
      if (parts.length === 0) throw new UsageError(`--${option} must be ${form}, not ${text}`, 'import');
      return parts as [string, string, string];
    });
  const renames = pairsOf('rename', 'FROM=TO', /^([^=]+)=(.+)$/s);
  const lookups = pairsOf('lookup', 'FIELD=COLLECTION.FIELD', /^([^=]+)=([a-z][a-z0-9_]*)\.(.+)$/s);
  const { strict, resume, infer, 'dry-run': dryRun, 'on-conflict': conflict } = values;
  if (resume && values.restart)
    throw new UsageError('--resume goes on, and --restart begins anew: choose one', 'import');
  if (resume && dryRun)
    throw new UsageError('--dry-run stores nothing that --resume could continue', 'import');
  return {
    files,
    infer,
    options: {
      strict,
      resume,
      keepIds: values['keep-ids'] || conflict !== undefined ? true : undefined,
      onConflict: (conflict ?? 'fail') as OnConflict,
      dryRun,
      restart: values.restart,
      rename: new Map(renames.map(([from, to]) => [from, to])),
      lookups: new Map(lookups.map(([field, to, by]) => [field, { to, by }])),
      report: new ImportReport(io, values.json, dryRun),
    },
  };
}

const NAME = /^[a-z][a-z0-9_]*$/;
const NAMED = /^([a-z][a-z0-9_]*)=(.+)$/s;

/** The files that the arguments name: one, perhaps after the name of its collection, or several. Throws UsageError. */
function filesOf(positionals: readonly string[], as: string | undefined): NamedFile[] {
  const [first, second, ...others] = positionals;
  const isPair = second !== undefined && others.length === 0 && NAME.test(first!) && !NAMED.test(second);
  if (isPair && as === undefined) return [{ file: second, as: first }];
  if (as !== undefined && second !== undefined)
    throw new UsageError('name one file, or several without a collection', 'import');
  if (as !== undefined) return [{ file: first!, as }];
  return positionals.map((text) => {
    const [, name, file = text] = NAMED.exec(text) ?? [];
    const fallback = second === undefined ? undefined : parsePath(file).name;
    return { file, as: name, fallback: fallback !== undefined && NAME.test(fallback) ? fallback : undefined };
  });
}
