-- Lists of one collection. src/list/list-sql.ts chooses a statement for a request, and replaces each `:name`:
--   :table, :name  the table, and the name of the collection
--   :records       the table as `record`, with the conditions of the request
--   :source        the table as `record`, with the records and fields that the caller may read
--   :total         how many records the list has
--   :order         the order of `record`; :by is the order of a relation that has the columns of the order as its own
--   :keys          the columns that the order compares
--   :documents     the documents of a page as one text, or a mark and the ids if the documents are too large for memory
--   :record        one record of the page by its id
--   :rank          the relevance of a record, if the order is by relevance
--   :number_in_page  the number of the page's records as `rows`, which tells whether a page without a total is full
-- A page has up to $1 records, from offset $2 on. Its total is from the snapshot of its records.

-- The ids of a page that may be far from the beginning are found first, and only the rows of the page itself are read, one
-- by one.
-- name: page_found
with total as (:total), page as materialized (
  select record.id from :records order by :order limit $1::bigint offset $2::bigint
)
select total.total:number_in_page, (
  select :documents from page, lateral :record as record
) as docs
from total;

-- Pages of all that several callers may read: :given has the bounds of each page and the values of its caller, :columns names them,
-- and :part is a document after the bits of the grants that hold for it. A sorted array has the ids of all records of a caller, so
-- that these are read once for the total and the page. In any order, since a sort would hold back the first page.
-- name: page_of_callers
select given.place::integer as place, coalesce(cardinality(found.ids), 0) as total, (
  select :documents
  from (
    select record.id:keys, record.doc, :part as part$ from :source where record.id = any (found.ids[given.first : given.last])
  ) as record
) as docs
from unnest(:given) with ordinality as given (:columns, place), lateral (
  select array_agg(id order by :by) as ids from (select record.id:keys from :records limit :most) as match
) as found;

-- A later page in the default order. It starts in the last row-count bucket before it instead of at the list's end, so
-- that its cost does not depend on its position. `position` is the index of its first record, oldest first. `_delta` has
-- what was written since the buckets were compacted; a bucket whose start these make uncertain is not used, and the page
-- is then counted from the start of the list.
-- name: page_counted
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

-- A search finds its matches first, then orders them: otherwise the planner walks the index of the order for a term whose
-- matches are all at its far end. With a total, so does a list with conditions on related records, or with alternatives.
-- name: page_matching
with match as materialized (
  select record.id:keys from :records
), total as (
  select count(*) as total from match
), page as materialized (
  select id:rank from match order by :by limit $1::bigint offset $2::bigint
)
select total.total:number_in_page, (
  select :documents from page, lateral :record as record
) as docs
from total;

-- The records from one place of an order to another, whose keys are no columns of the table: :start and :rows are SQL.
-- name: page_slice
with match as materialized (
  select record.id, row_number() over (order by :order) as place from :records
), total as (
  select count(*) as total from match
), page as materialized (
  select id, row_number() over (order by place) as place
  from (select * from match order by place limit :rows offset :start) as slice
)
select total.total, (
  select :documents from page, lateral :record as record
) as docs
from total;

-- Whole lists leave by COPY: one statement, so one snapshot, and no row becomes an object on its way. The binary format
-- passes a document as it is; CSV would examine each of its characters. COPY takes no parameters, so the values of its
-- conditions are settings of its transaction, never text of the statement.
-- name: stream
copy (select record.doc from :records order by :order)
to stdout (format binary);

-- name: stream_matching
copy (
  with match as materialized (
    select record.id:keys from :records
  )
  select record.doc from match join :source on record.id = match.id order by :match_order
)
to stdout (format binary);

-- The ids of what is selected, in the order in which records are locked.
-- name: ids
select record.id::text as id from :records order by record.id limit $1::bigint;

-- The records that refer to some others ($1), up to $2 each: the one that they refer to, and their documents. Instead of
-- documents that are too large for memory, which it does not read, it returns a mark.
-- name: referring
with _found as materialized (
  select given.id as parent, record.id, record.bytes
  from unnest($1::uuid[]) as given (id), lateral (
    select record.id, octet_length(record.doc) as bytes from :records order by record.id limit $2::bigint
  ) as record
), _total as materialized (
  select sum(bytes) > :max_bytes as exceeds from _found
)
select null as parent, ':too_large' as docs from _total where exceeds
union all
select _found.parent::text, string_agg(record.doc, ',' order by record.id)
from _found join :source on record.id = _found.id
where not (select exceeds from _total)
group by _found.parent;

-- How many records refer to each of some others: :references has the pairs, each once.
-- name: referring_counts
select parent::text, count(*) as total from (:references) as reference group by parent;
