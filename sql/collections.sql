-- The tables of the collections as the database has them, and the declarations that were applied, as one JSON text.

-- name: catalog ($1 names of tables, as a JSON array, $2 their schema)
select json_build_object(
  'tables', (
    select coalesce(json_agg(json_build_object(
      'name', plinth_collection_of(relname),
      'table', relname,
      'columns', (
        select json_object_agg(attname, json_build_object(
          'type', format_type(atttypid, atttypmod),
          'comment', col_description(attrelid, attnum)
        ) order by attnum)
        from pg_attribute
        where attrelid = class.oid and attnum > 0 and not attisdropped
      ),
      'indexes', (
        select json_object_agg(indexes.relname, json_build_object('isValid', indisvalid, 'isUnique', indisunique, 'columns', array(
          -- Columns of expressions are dependencies of the index.
          select attname
          from pg_attribute
          where attrelid = indrelid and attnum > 0 and (attnum = any (indkey) or exists (
            select from pg_depend
            where classid = 'pg_class'::regclass and objid = indexrelid and objsubid = 0 and refobjid = indrelid and refobjsubid = attnum
          ))
          order by attname collate "C"
        )))
        from pg_index
        join pg_class as indexes on indexes.oid = indexrelid
        where indrelid = class.oid
      ),
      'foreignKeys', (:foreign_keys),
      'triggers', (:triggers)
    ) order by length(relname), relname), '[]')
    from pg_class as class
    where relnamespace = (select oid from pg_namespace where nspname = $2) and relkind in ('r', 'p')
      and plinth_collection_of(relname) in (select json_array_elements_text($1::text::json) union select name from collections)
  ),
  -- Other objects with a name of interest.
  'occupied', (
    select coalesce(json_agg(json_build_object('name', name, 'kind', kind)), '[]')
    from (
      select relname as name,
        case when relkind in ('i', 'I') then 'index' when relkind = 'S' then 'sequence' when relkind in ('v', 'm') then 'view' else 'relation' end as kind
      from pg_class
      where relnamespace = (select oid from pg_namespace where nspname = $2) and relkind not in ('r', 'p')
      union all
      select typname, 'type'
      from pg_type
      where typnamespace = (select oid from pg_namespace where nspname = $2) and typrelid = 0 and typcategory <> 'A'
    ) as others
    where name in (select json_array_elements_text($1::text::json))
  ),
  'applied', (
    select coalesce(json_object_agg(name, plinth_newest(collections)), '{}') from collections
  ),
  'former', (
    select coalesce(json_object_agg(name, declaration), '{}') from collections
  ),
  'fieldsSince', (
    select coalesce(json_object_agg(name, fields_since), '{}') from collections
  ),
  'pending', (
    select coalesce(json_agg(json_build_object('collection', collection, 'work', work, 'state', state) order by collection, work), '[]')
    from plinth_document_work
  ),
  'files', (
    select coalesce(json_object_agg(name, checksum), '{}') from plinth_sql_files
  ),
  'views', (
    select coalesce(json_object_agg(relname, substring(obj_description(oid, 'pg_class') from '\S+$') order by relname), '{}')
    from pg_class
    where relnamespace = (select oid from pg_namespace where nspname = $2) and relkind = 'v'
      and obj_description(oid, 'pg_class') ~ '^plinth: (former name of|moved to) '
  )
)::text as state;

-- Of a table in `catalog`, which is `:class`.
-- name: foreign_keys
select json_object_agg(conname, json_build_object('action', confdeltype, 'isValid', convalidated))
from pg_constraint
where conrelid = :class.oid and contype = 'f';

-- name: triggers
select json_agg(tgname)
from pg_trigger
where tgrelid = :class.oid and not tgisinternal and tgenabled <> 'D';

-- The declaration that it replaces stays, for services that have it.
-- name: apply ($1 name, $2 declaration)
insert into collections as present (name, declaration)
values ($1, $2)
on conflict (name) do update set
  declaration = plinth_newest(present),
  newest = excluded.declaration, newest_at = now(), applied_at = now();

-- No service with a former declaration runs any more, or none can. Null: of any collection.
-- name: settle ($1 names, as a JSON array)
with closed as (
  delete from plinth_document_work
  where state = 'window' and ($1::text is null or collection in (select json_array_elements_text($1::text::json)))
)
update collections
set declaration = newest, newest = null, newest_at = null
where newest_at >= applied_at and ($1::text is null or name in (select json_array_elements_text($1::text::json)));

-- A field that is no longer declared: what removes it from the documents is offered.
-- name: offer ($1 collection, $2 work)
insert into plinth_document_work (collection, work, state)
values ($1, $2, 'offer')
on conflict (collection, work) do nothing;

-- Documents for a migration step, in the order of their ids, and not many more bytes than 8 MiB.
-- name: documents ($1 after this id, $2 maximum number)
select id, version, doc
from (
  select id, version, doc, sum(octet_length(doc)) over (order by id) - octet_length(doc) as before
  from (select id, version, doc from :table where id > $1 order by id limit $2) as next
) as page
where before < 8388608
order by id;
