-- The statement of sql/collections.sql that differs on Citus: functions do the work of triggers and of most foreign keys.

-- name: catalog ($1 names of tables, as a JSON array, $2 their schema)
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
        select json_agg(json_build_object('name', indexes.relname, 'valid', indisvalid, 'unique', indisunique, 'columns', array(
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
    where relnamespace = (select oid from pg_namespace where nspname = $2) and relkind in ('r', 'p')
      and relname in (select json_array_elements_text($1::text::json) union select name from collections)
  ),
  -- Other objects with a name of interest.
  'occupied', (
    select coalesce(json_agg(json_build_object('name', name, 'kind', kind, 'table', of)), '[]')
    from (
      select relname as name,
        case when relkind in ('i', 'I') then 'index' when relkind = 'S' then 'sequence' when relkind in ('v', 'm') then 'view' else 'relation' end as kind,
        (select owner.relname from pg_index join pg_class as owner on owner.oid = indrelid where indexrelid = class.oid) as of
      from pg_class as class
      where relnamespace = (select oid from pg_namespace where nspname = $2) and relkind not in ('r', 'p')
      union all
      select typname, 'type', null
      from pg_type
      where typnamespace = (select oid from pg_namespace where nspname = $2) and typrelid = 0 and typcategory <> 'A'
    ) as others
    where name in (select json_array_elements_text($1::text::json))
  ),
  'applied', (
    select coalesce(json_agg(json_build_object(
      'name', name,
      'declaration', plinth_newest(collections),
      'former', declaration
    )), '[]')
    from collections
  ),
  'pending', (
    select coalesce(json_agg(json_build_object('collection', collection, 'work', work, 'state', state) order by collection, work), '[]')
    from plinth_document_work
  ),
  'files', (
    select coalesce(json_agg(json_build_object('name', name, 'checksum', checksum)), '[]')
    from plinth_sql_files
  ),
  'views', (
    select coalesce(json_agg(json_build_object('name', relname, 'comment', obj_description(oid, 'pg_class')) order by relname), '[]')
    from pg_class
    where relnamespace = (select oid from pg_namespace where nspname = $2) and relkind = 'v'
      and obj_description(oid, 'pg_class') like 'plinth: former name of %'
  )
)::text as state;
