-- Writes to distributed collections: sql/collection/write.sql says what they do. The functions write to the shards of the
-- record, of its unique values and of what it refers to, and on the coordinator.
--   :given           `, $7::text` ...           the own columns of replace
--   :has_tombstones  true or false

-- name: create ($1 id, $2 updated_at, $3 doc, $4... own columns)
select write_new(':name', (
  select json_agg(record)
  from (select $1::uuid, 1, $2::timestamptz, $3::text:values) as record (id, version, updated_at, doc:columns)
));

-- name: create_many ($1 rows)
select key from write_new(':name', $1::text::json);

-- name: replace ($1 id, $2 $3 $4 preconditions, $5 updated_at, $6 doc up to the version, $7... own columns)
select before, after, doc
from write_over(':name', $1, $2::integer[], $3::integer[], $4::timestamptz, (
  select to_jsonb(record)
  from (select $5::timestamptz, $6::text:given) as record (updated_at, doc:columns)
), false, :has_tombstones);

-- name: replace_many ($1 rows, in the order of their ids)
select key from write_over_many(':name', $1::text::json);

-- name: remove ($1 id)
select 1 from delete_record(':name', $1);

-- name: remove_if ($1 id, $2 $3 $4 preconditions)
select before, after, doc
from delete_record(':name', $1, $2::integer[], $3::integer[], $4::timestamptz);
