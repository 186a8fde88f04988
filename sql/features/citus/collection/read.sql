-- Reads of distributed collections that differ from sql/collection/read.sql. Of the others, `get`, `get_large` and `exists`
-- read the shards of the ids alone; of children, whose ids do not tell the shard, they are a fan-out: one look at an index of
-- each shard.

-- name: lock ($1 ids)
select id from lock_records(':name', $1::uuid[], null, null);
