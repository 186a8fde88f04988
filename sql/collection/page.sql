-- Pages of a list without a search. Besides the names of read.sql:
--   :by      one of the orders that the declaration allows
--   :documents  the documents of a page as one text, or a mark if they are too large for memory
--   :record     one record of the page by its id
--   :first_rows the last row that `page` reads; the planner needs a constant
-- The total and the page are one statement, so they come from one snapshot.

-- A page near the beginning is read along the order's index. For a limit that it does not know, the planner would assume
-- a tenth of the table.
-- name: page ($1 limit, $2 offset)
with total as (
  select coalesce((select total from blocks where collection = ':name'), 0)
    + coalesce((select sum(delta) from counts where collection = ':name'), 0)::bigint as total
)
select total.total, (
  select :documents
  from (
    select * from (select * from :table order by :by limit :first_rows) as first order by :by limit $1 offset $2
  ) as record
) as docs
from total;

-- A later page: its ids are found in the index alone, and only the rows of the page itself are read, one by one.
-- name: page_deep ($1 limit, $2 offset)
with total as (
  select coalesce((select total from blocks where collection = ':name'), 0)
    + coalesce((select sum(delta) from counts where collection = ':name'), 0)::bigint as total
), page as materialized (
  select id from :table order by :by limit $1 offset $2
)
select total.total, (
  select :documents from page, lateral :record as record
) as docs
from total;

-- A later page in the default order. It starts in the last row-count bucket before it instead of at the list's end, so
-- that its cost does not depend on its position. `position` is the index of its first record, oldest first. `_delta` has
-- what was written since the buckets were compacted; a bucket whose start these make uncertain is not used, and the page
-- is then counted from the start of the list.
-- name: page_counted ($1 limit, $2 offset)
with _delta as materialized (
  select at, delta from counts where collection = ':name'
), _list as materialized (
  select coalesce(starts, '{0}') as starts, coalesce(before, '{0}') as before,
    coalesce(blocks.total, 0) + changed.total as total, changed.added
  from (
    select coalesce(sum(delta), 0)::bigint as total, coalesce(sum(greatest(delta, 0)), 0)::bigint as added from _delta
  ) as changed
  left join blocks on collection = ':name'
), _located as materialized (
  select starts, before, total, :position as position, :rows as rows,
    greatest(width_bucket(:position - added, before), 1) as bucket
  from _list
), _start as materialized (
  select total, rows, position, starts[bucket] as start,
    position - before[bucket] - (select coalesce(sum(delta), 0)::bigint from _delta where at < starts[bucket]) as skipped
  from _located
), page as materialized (
  select id
  from :table
  where id >= (select first_id(case when skipped >= 0 then start else 0 end) from _start)
  order by id
  limit (select rows from _start)
  offset (select case when skipped >= 0 then skipped else position end from _start)
)
select _start.total, (
  select :documents from page, lateral :record as record
) as docs
from _start;

-- name: page_of_parent ($1 limit, $2 offset, $3 parent)
with total as (
  select count(*) as total from :table where :parent = $3
), page as materialized (
  select id from :table where :parent = $3 order by :by limit $1 offset $2
)
select total.total, (
  select :documents from page, lateral :record as record
) as docs
from total;
