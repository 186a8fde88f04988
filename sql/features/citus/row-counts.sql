-- The part of `split` of sql/row-counts.sql that reads a collection, for a distributed one.

-- name: bucket
select id from _large, distributed_ids($1, first_id(start), first_id(until), greatest(50000, 4 * size)) as id;
