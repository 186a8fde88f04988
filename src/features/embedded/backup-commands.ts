import { parse } from '../../cli/arguments.js';
import { configOf, fileOf, type Io } from '../../cli/io.js';
import { print } from '../../cli/output.js';
import { ExitError } from '../../errors/exit-error.js';
import { backUp, type Copied, restore } from './backup.js';
import { COMMANDS } from './commands.js';
import { EMBEDDED_SETTINGS } from './settings.js';

/** Copies the embedded database to a folder. Throws UsageError, ExitError and EmbeddedError. */
export function backupCommand(args: string[], io: Io): Promise<void> {
  return runOnFolder('backup', args, io, backUp, 'Copied the database to');
}

/** Makes the embedded database from such a folder. Throws as `backupCommand` does. */
export function restoreCommand(args: string[], io: Io): Promise<void> {
  return runOnFolder('restore', args, io, restore, 'Restored the database of');
}

async function runOnFolder(
  command: 'backup' | 'restore',
  args: string[],
  io: Io,
  work: (dataDir: string, folder: string) => Promise<Copied>,
  says: string,
): Promise<void> {
  const { values, positionals } = parse(COMMANDS, command, '', args);
  const [folder] = positionals as [string];
  const config = configOf(io);
  if (config.databaseUrl !== undefined)
    throw new ExitError(
      `plinth ${command} is about the embedded database, and DATABASE_URL names another: use pg_dump and pg_restore`,
    );
  io.process?.exitOnSignals();
  const { files, bytes } = await work(EMBEDDED_SETTINGS.of(config).dataDir, fileOf(io, folder));
  print(io, values.json, { folder, files, bytes }, `${says} ${folder}: ${files} files, ${bytes} bytes.\n`);
}
