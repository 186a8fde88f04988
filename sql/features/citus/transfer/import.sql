-- Statements of sql/features/transfer/import.sql that differ on Citus. Rows are copied into a table of the session, from which the function
-- that writes takes them.

-- name: existing ($1 ids, as a JSON array)
select id
from lock_records(':name', array(select json_array_elements_text($1::text::json))::uuid[], null, null);

-- name: is_empty
select count(*) = 0 as empty from (select 1 from :table limit 1) as first;

-- name: prepare_copy
create temp table if not exists copied_:name (like :table including defaults) on commit drop;

-- name: copy_records
copy copied_:name (id, version, updated_at, doc:columns) from stdin;

-- name: store_copied
with copied as (
  delete from copied_:name returning *
)
select write_new(':name', json_agg(copied)) from copied having count(*) > 0;
