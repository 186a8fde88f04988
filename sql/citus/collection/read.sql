-- Reads of distributed collections by id: sql/collection/read.sql says what the names are. The shards of the ids alone are
-- read; of children, whose ids do not tell the shard, it is a fan-out of one look at an index of each shard.

-- name: get ($1 ids) fan-out for children
select string_agg(doc, :separator) as records
from (
  select :document as doc
  from :table
  where id = any ($1::uuid[]):tombstones
) as record;

-- name: get_large ($1 id) fan-out for children
select doc, version
from :table
where id = $1;

-- name: exists ($1 id) fan-out for children
select 1 as found
from :table
where id = $1;

-- name: lock ($1 ids)
select id from lock_records(':table', $1::uuid[], null, null);

-- name: lock_owned ($1 ids, $2 parent)
select id from lock_records(':table', $1::uuid[], ':parent', $2);

-- name: owned ($1 id, $2 parent)
select id
from :table
where id = $1 and :parent = $2;
