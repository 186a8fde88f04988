-- The parts of `catalog` of sql/collections.sql that differ on Citus: functions do the work of triggers and of most foreign keys.

-- name: foreign_keys
select json_object_agg(name, json_build_object(
  'action', case on_delete when 'cascade' then 'c' when 'restrict' then 'r' else 'a' end, 'isValid', true
))
from distributed_references
where collection = :class.relname;

-- name: triggers
select json_agg(trigger)
from (
  select :class.relname || suffix as trigger
  from distributed_collections,
    unnest('{_created_events,_updated_events,_deleted_events,_inserted,_deleted}'::text[]) as suffix
  where name = :class.relname
  union all
  select name || '_null' from distributed_references where target = :class.relname and on_delete = 'null'
) as triggers;
