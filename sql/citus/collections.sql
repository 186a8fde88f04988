-- The statement of sql/collections.sql that differs on Citus: functions do the work of triggers and of most foreign keys.

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
        select json_agg(json_build_object(
          'name', name, 'action', case on_delete when 'cascade' then 'c' when 'restrict' then 'r' else 'a' end, 'valid', true
        ))
        from distributed_references
        where collection = relname
      ),
      'triggers', (
        select json_agg(trigger)
        from (
          select relname || suffix as trigger
          from distributed_collections,
            unnest('{_created_events,_updated_events,_deleted_events,_inserted,_deleted}'::text[]) as suffix
          where name = relname
          union all
          select name || '_null' from distributed_references where target = relname and on_delete = 'null'
        ) as triggers
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
