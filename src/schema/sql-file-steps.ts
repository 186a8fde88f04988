import { qualified } from '../db/object-names.js';
import { quotedName } from '../db/statements.js';
import type { SqlFile } from '../declarations/declaration.js';
import { RefusedError } from '../errors/exit-error.js';
import type { Catalog } from './catalog.js';
import { NO_LOCK, quoted, type SchemaStep, step } from './step.js';

/**
 * Sets what the service owns in the records that a file inserts or changes, in the document as in the columns: each change
 * has the next version and a time, and the id and the time of creation stay. The counts of records follow no `truncate`.
 */
const OWN_MEMBERS = `create function plinth_own_members() returns trigger language plpgsql as $own$
declare
  created json;
begin
  if tg_op = 'TRUNCATE' then
    raise exception 'truncate leaves the counts of records and the feed as they are: delete the records';
  elsif current_setting('session_replication_role') = 'replica' then
    raise exception 'the triggers of the service are turned off: a file leaves session_replication_role as it is';
  elsif new.doc is null then
    raise exception 'a record needs a document: delete the record';
  elsif tg_op = 'INSERT' then
    new.updated_at := date_trunc('milliseconds', coalesce(new.updated_at, now()));
    created := coalesce(new.doc::json -> 'created_at', to_json(to_char(new.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')));
  elsif new.id <> old.id then
    raise exception 'the id of a record stays: insert another record instead of %', old.id;
  elsif (new.doc, new.version, new.updated_at) is not distinct from (old.doc, old.version, old.updated_at) then
    return new;
  else
    new.version := old.version + 1;
    new.updated_at := date_trunc('milliseconds', now());
    created := old.doc::json -> 'created_at';
  end if;
  select '{' || string_agg(to_json(key)::text || ':' || value, ',' order by part, position) || '}' into new.doc
  from (
    select key, position, value::text as value, 1 as part
    from json_each(new.doc::json) with ordinality as members (key, value, position)
    where key not in ('id', 'created_at', 'updated_at', '_version')
    union all
    values ('id', 0::bigint, to_json(new.id)::text, 0), ('created_at', 0, created::text, 2),
      ('updated_at', 0, to_json(to_char(new.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))::text, 3),
      ('_version', 0, new.version::text, 4)
  ) as members;
  return new;
end $own$`;

/** Fails if a file has turned off a trigger on one of so many tables, also if it has turned it on again. */
const areOn = (tables: number): string => `do $on$ begin
  if (select count(*) from pg_trigger where tgname = 'plinth_own_members' and tgenabled = 'A') <> ${tables}
    or current_setting('session_replication_role') = 'replica' then
    raise exception 'the triggers of the service were turned off: a file leaves them as they are';
  end if;
end $on$`;

/** The steps that run the SQL files of the operator that were not run yet. Throws RefusedError. */
export function sqlFileSteps(files: readonly SqlFile[], catalog: Catalog): SchemaStep[] {
  const { applied, sqlFiles, schema, engine } = catalog;
  const nameOf = (collection: string) => catalog.tables.get(collection)?.table ?? collection;
  for (const { name, checksum } of files)
    if (sqlFiles.has(name) && sqlFiles.get(name) !== checksum)
      throw new RefusedError(
        `${name} was changed after it had been run: restore the file, and put the change into a new one`,
      );
  return files
    .filter(({ name }) => !sqlFiles.has(name))
    .map((file) => {
      const record = `insert into plinth_sql_files (name, checksum) values (${quoted(file.name)}, ${quoted(file.checksum)})`;
      if (applied.size === 0)
        return step(`Note ${file.name} as run: there are no stored records that it could change`, NO_LOCK, [
          record,
        ]);
      const collections = [...applied.keys()].filter((collection) => isNamedIn(file, collection));
      // Distributed tables have no triggers.
      const tables = engine.isDistributed
        ? []
        : collections.map((collection) => qualified(schema, nameOf(collection)));
      const moved = collections.filter((collection) => nameOf(collection) !== collection);
      return {
        title: `Run ${file.name}`,
        locks: 'what its statements lock',
        sql: [
          // Tables of collections after those of the service, which its triggers write.
          `select set_config('search_path', current_setting('search_path') || ', ' || ${quoted(quotedName(schema))}, true)`,
          // A file names a table by its collection, whatever windows this database has had.
          ...moved.map(
            (collection) =>
              `create temporary view ${collection} as select * from ${qualified(schema, nameOf(collection))}`,
          ),
          ...(tables.length > 0 ? [OWN_MEMBERS] : []),
          ...tables.flatMap((table) => [
            `create trigger plinth_own_members before insert or update on ${table} for each row execute function plinth_own_members()`,
            `alter table ${table} enable always trigger plinth_own_members`,
            `create trigger plinth_no_truncate before truncate on ${table} execute function plinth_own_members()`,
          ]),
          asOneStatement(file),
          // A trigger of a table with deferred checks cannot be dropped.
          ...(tables.length > 0
            ? [
                'set constraints all immediate',
                areOn(tables.length),
                'drop function plinth_own_members() cascade',
              ]
            : []),
          ...moved.map((collection) => `drop view pg_temp.${collection}`),
          record,
          ...collections.map(
            (collection) =>
              `insert into plinth_document_work values (${quoted(collection)}, '{"kind":"due"}', 'due') on conflict do nothing`,
          ),
        ],
      };
    });
}

/** The text of a file as one statement, in which PostgreSQL permits none that ends the transaction or needs data of the client. */
const asOneStatement = ({ text, checksum }: SqlFile): string => {
  const mark = `$file_${checksum.slice(0, 8)}$`;
  return `do $run$ begin
execute ${mark}
${text.trim()}
${mark};
exception when feature_not_supported then
  raise exception '%: a file begins and ends no transaction, sets no savepoint, and copies from and to no client', sqlerrm;
end $run$`;
};

/** Whether a file may change the records of a collection. */
export const isNamedIn = ({ text }: SqlFile, collection: string): boolean =>
  text
    .toLowerCase()
    .split(/[^\w$]+/)
    .includes(collection);
