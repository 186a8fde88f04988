-- What the database has of the collections' tables, and the declarations that were applied, as one JSON text.

-- name: catalog ($1 names of tables, as a JSON array)
select json_build_object(
  'tables', (
    select coalesce(json_agg(json_build_object(
      'name', relname,
      'columns', (
        select json_agg(json_build_object(
          'name', attname,
          'type', format_type(atttypid, atttypmod),
          'required', attnotnull,
          'comment', col_description(attrelid, attnum)
        ) order by attnum)
        from pg_attribute
        where attrelid = class.oid and attnum > 0 and not attisdropped
      ),
      'indexes', (
        select json_agg(json_build_object('name', indexes.relname, 'valid', indisvalid))
        from pg_index
        join pg_class as indexes on indexes.oid = indexrelid
        where indrelid = class.oid
      ),
      'keys', (
        select json_agg(json_build_object('name', conname, 'action', confdeltype, 'valid', convalidated))
        from pg_constraint
        where conrelid = class.oid and contype = 'f'
      ),
      'triggers', (
        select json_agg(tgname)
        from pg_trigger
        where tgrelid = class.oid and not tgisinternal and tgenabled <> 'D'
      )
    )), '[]')
    from pg_class as class
    where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')
      and relname in (select json_array_elements_text($1::text::json) union select name from collections)
  ),
  'applied', (
    select coalesce(json_agg(json_build_object('name', name, 'declaration', declaration)), '[]')
    from collections
  )
)::text as state;

-- name: apply ($1 name, $2 declaration)
insert into collections (name, declaration)
values ($1, $2)
on conflict (name) do update set declaration = excluded.declaration, applied_at = now();

-- name: forget ($1 name)
delete from collections
where name = $1;

-- Documents for a migration step, in the order of their ids.
-- name: documents ($1 after this id, $2 maximum number)
select id, version, doc
from :table
where id > $1
order by id
limit $2;
