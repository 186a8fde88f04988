-- Compaction: adds the deltas that the triggers wrote into `counts` to the sums of the row-count buckets in `blocks`. The
-- lock on the collection's row of `blocks` serializes it; readers see either the deltas or the sums that replaced them.
-- These are separate statements, since each must see the state after the lock.

-- name: uncompacted
select collection from counts group by collection having count(*) > 64 or sum(abs(delta)) > 500;

-- name: open ($1 collection)
insert into blocks (collection) values ($1) on conflict do nothing;

-- name: lock ($1 collection, $2 schema of its table)
select (
  select relname
  from pg_class
  where relnamespace = (select oid from pg_namespace where nspname = $2) and relkind in ('r', 'p')
    and plinth_collection_of(relname) = $1
  order by length(relname) desc, relname desc
  limit 1
) as table
from blocks
where collection = $1
for update skip locked;

-- Adds deltas to the sums of the buckets after them, and merges buckets that have become small: of those that start
-- within the same half bucket, the first remains.
-- name: compact ($1 collection, $2 minimum records in a bucket)
with compacted as (
  delete from counts
  where ctid = any (array(select ctid from counts where collection = $1 limit 10000))
  returning at, delta
), event as (
  select start as at, n, passed, 0 as delta
  from blocks, unnest(starts, before) with ordinality as bucket (start, passed, n)
  where collection = $1
  union all
  select at, null, null, delta from compacted
), moved as (
  select at, n, (passed + sum(delta) over (order by at, n nulls last rows unbounded preceding))::bigint as passed
  from event
), remaining as (
  select distinct on (passed * 2 / greatest($2::bigint, sqrt(total)::bigint)) at, passed
  from moved, blocks
  where n is not null and collection = $1
  order by passed * 2 / greatest($2::bigint, sqrt(total)::bigint), at
)
update blocks
set total = total + (select coalesce(sum(delta), 0) from compacted),
  starts = array(select at from remaining order by at),
  before = array(select passed from remaining order by at)
where collection = $1;

-- Splits the first bucket that has twice its intended size, 50,000 records of it at a time; no row if there is none. Its
-- bounds are subqueries: joined, they would make each split read and sort the whole bucket, which after ten million
-- records in one statement exceeds the statement timeout. Records whose deltas are not compacted are not in the sums.
-- name: split ($1 collection, $2 minimum records in a bucket)
with _bucket as (
  select start, passed, lead(start, 1, 281474976710655) over (order by start) as until,
    greatest($2::bigint, sqrt(total)::bigint) as size, lead(passed, 1, total) over (order by start) - passed as records
  from blocks, unnest(starts, before) as bucket (start, passed)
  where collection = $1
), _large as (
  select * from _bucket where records > 2 * size order by start limit 1
), found as (
  select moment_of(id) as at from (:bucket) as record
), moment as (
  select at, sum(count(*)) over (order by at) - count(*) as preceding from found group by at
), cut as (
  select distinct on (preceding::bigint / size) at, preceding::bigint
  from moment, _large
  where preceding >= size
  order by preceding::bigint / size, at
), parts as (
  select start as at, passed from _bucket
  union all
  select cut.at, passed + preceding - (
    select coalesce(sum(delta), 0)::bigint from counts
    where collection = $1 and counts.at >= start and counts.at < cut.at
  )
  from cut, _large
)
update blocks
set starts = array(select at from parts order by at),
  before = array(select passed from parts order by at)
where collection = $1 and exists (select from cut)
returning collection;

-- The first records of that bucket, for `split`.
-- name: bucket
select id from :table
where id >= (select first_id(start) from _large) and id < (select first_id(until) from _large)
order by id
limit (select greatest(50000, 4 * size) from _large);
