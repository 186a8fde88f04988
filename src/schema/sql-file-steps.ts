import { quotedName } from '../db/object-names.js';
import type { SqlFile } from '../declarations/declaration.js';
import { ExitError } from '../errors/exit-error.js';
import type { Catalog } from './catalog.js';
import { NO_LOCK, quoted, type SchemaStep } from './step.js';

/** An SQL file that was run has another content now. */
export class ChangedFileError extends ExitError {
  override readonly exitCode = 78;

  constructor(name: string) {
    super(`${name} was changed after it had been run: restore the file, and put the change into a new one`);
  }
}

/** The steps that run the SQL files of the operator that were not run yet. Throws ChangedFileError. */
export function sqlFileSteps(files: readonly SqlFile[], catalog: Catalog): SchemaStep[] {
  const { applied, sqlFiles, schema } = catalog;
  for (const { name, checksum } of files)
    if (sqlFiles.has(name) && sqlFiles.get(name) !== checksum) throw new ChangedFileError(name);
  return files
    .filter(({ name }) => !sqlFiles.has(name))
    .map((file) => {
      const record = `insert into plinth_sql_files (name, checksum) values (${quoted(file.name)}, ${quoted(file.checksum)})`;
      if (applied.size === 0)
        return {
          title: `Note ${file.name} as run: there are no stored records that it could change`,
          locks: NO_LOCK,
          sql: [record],
        };
      return {
        title: `Run ${file.name}`,
        locks: 'what its statements lock',
        sql: [
          // Tables of collections after those of the service, which its triggers write.
          `select set_config('search_path', current_setting('search_path') || ', ' || ${quoted(quotedName(schema))}, true)`,
          file.text.trim().replace(/;$/, ''),
          record,
          ...[...applied.keys()]
            .filter((collection) => isNamedIn(file, collection))
            .map(
              (collection) =>
                `insert into plinth_document_work values (${quoted(collection)}, '{"kind":"due"}', 'due') on conflict do nothing`,
            ),
        ],
      };
    });
}

/** Whether a file may change the records of a collection. */
export const isNamedIn = ({ text }: SqlFile, collection: string): boolean =>
  text
    .toLowerCase()
    .split(/[^\w$]+/)
    .includes(collection);
