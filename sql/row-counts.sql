-- Adding up what the triggers left in `counts`. Whoever does it holds the collection's row of `blocks`, so there is
-- one at a time; readers see either the deltas or the sums that took their place. Each of the three is a
-- statement of its own, since what it sees must be as of after the lock.

-- name: unfolded
select collection from counts group by collection having count(*) > 64 or sum(abs(delta)) > 500;

-- name: open ($1 collection)
insert into blocks (collection) values ($1) on conflict do nothing;

-- name: lock ($1 collection)
select 1 from blocks where collection = $1 for update skip locked;

-- Takes deltas, adds them to the sums of the blocks after them, and drops blocks that have become small: of those
-- that start within the same half block, the first stays.
-- name: fold ($1 collection, $2 records in a block, at the least)
with folded as (
  delete from counts
  where ctid = any (array(select ctid from counts where collection = $1 limit 10000))
  returning at, delta
), event as (
  select start as at, n, passed, 0 as delta
  from blocks, unnest(starts, before) with ordinality as block (start, passed, n)
  where collection = $1
  union all
  select at, null, null, delta from folded
), moved as (
  select at, n, (passed + sum(delta) over (order by at, n nulls last rows unbounded preceding))::bigint as passed
  from event
), kept as (
  select distinct on (passed * 2 / greatest($2::bigint, sqrt(total)::bigint)) at, passed
  from moved, blocks
  where n is not null and collection = $1
  order by passed * 2 / greatest($2::bigint, sqrt(total)::bigint), at
)
update blocks
set total = total + (select coalesce(sum(delta), 0) from folded),
  starts = array(select at from kept order by at),
  before = array(select passed from kept order by at)
where collection = $1;

-- Cuts the first block that has become twice as large as it should be, 50,000 records of it at a time, and says
-- whether there was one. Its bounds are looked up apart: joined, they would have the whole block read and sorted for
-- each cut, which after ten million records in one statement takes longer than a statement may. What is in the table
-- and not yet folded is not part of the sums.
-- name: split ($1 collection, $2 records in a block, at the least)
with block as (
  select start, passed, lead(start, 1, 281474976710655) over (order by start) as until,
    greatest($2::bigint, sqrt(total)::bigint) as size, lead(passed, 1, total) over (order by start) - passed as records
  from blocks, unnest(starts, before) as block (start, passed)
  where collection = $1
), large as (
  select * from block where records > 2 * size order by start limit 1
), found as (
  select moment_of(id) as at
  from :table
  where id >= (select first_id(start) from large) and id < (select first_id(until) from large)
  order by id
  limit (select greatest(50000, 4 * size) from large)
), moment as (
  select at, sum(count(*)) over (order by at) - count(*) as preceding from found group by at
), cut as (
  select distinct on (preceding::bigint / size) at, preceding::bigint
  from moment, large
  where preceding >= size
  order by preceding::bigint / size, at
), parts as (
  select start as at, passed from block
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
