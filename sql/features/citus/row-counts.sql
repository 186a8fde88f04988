-- The statement of sql/row-counts.sql that reads a collection, for a distributed one.

-- Splits the first bucket that has twice its intended size, 50,000 records of it at a time; no row if there is none. Its
-- bounds are subqueries: joined, they would make each split read and sort the whole bucket, which after ten million
-- records in one statement exceeds the statement timeout. Records whose deltas are not compacted are not in the sums.
-- name: split ($1 collection, $2 minimum records in a bucket)
with bucket as (
  select start, passed, lead(start, 1, 281474976710655) over (order by start) as until,
    greatest($2::bigint, sqrt(total)::bigint) as size, lead(passed, 1, total) over (order by start) - passed as records
  from blocks, unnest(starts, before) as bucket (start, passed)
  where collection = $1
), large as (
  select * from bucket where records > 2 * size order by start limit 1
), found as (
  select moment_of(id) as at
  from large, distributed_ids($1, first_id(start), first_id(until), greatest(50000, 4 * size)) as id
), moment as (
  select at, sum(count(*)) over (order by at) - count(*) as preceding from found group by at
), cut as (
  select distinct on (preceding::bigint / size) at, preceding::bigint
  from moment, large
  where preceding >= size
  order by preceding::bigint / size, at
), parts as (
  select start as at, passed from bucket
  union all
  select cut.at, passed + preceding - (
    select coalesce(sum(delta), 0)::bigint from counts
    where collection = $1 and counts.at >= start and counts.at < cut.at
  )
  from cut, large
)
update blocks
set starts = array(select at from parts order by at),
  before = array(select passed from parts order by at)
where collection = $1 and exists (select from cut)
returning collection;
