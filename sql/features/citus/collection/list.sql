-- Lists of distributed collections: sql/collection/list.sql says what the names are. The pages of most lists are fan-outs that
-- read up to offset + limit entries of an index in each shard; `page_of_parent` reads one shard.
--   :parent  the column of the parent
--   :search  the text that is searched, in lower case
--   :values  an array of the values of conditions, as texts

-- name: page_first ($1 limit, $2 offset) fan-out
select total, docs from distributed_page(':name', 'true', $sql$:by$sql$, $sql$:documents$sql$, $1, $2);

-- name: page_found ($1 limit, $2 offset) fan-out
select total, docs from distributed_page(':name', 'true', $sql$:by$sql$, $sql$:documents$sql$, $1, $2);

-- name: page_counted ($1 limit, $2 offset) fan-out
select total, docs from counted_page(':name', ':by' = 'id desc', $sql$:documents$sql$, $1, $2);

-- name: page_of_parent ($1 limit, $2 offset, $3 parent)
select total, docs
from distributed_page(':name', ':parent = $1::uuid', $sql$:by$sql$, $sql$:documents$sql$, $1, $2, $3::text);

-- Searches look for the term in the index of each shard. Each id has the same length, but the planner does not know:
-- otherwise it would walk the order's index for a term whose matches are all at its far end.
-- name: page_matching ($1 limit, $2 offset, $3 pattern) fan-out
select total, docs from distributed_page(
  ':name', $sql$:search like lower($1)$sql$, $sql$length(id::text), :by$sql$, $sql$:documents$sql$, $1, $2, $3::text
);

-- name: page_matching_short ($1 limit, $2 offset, $3 term) fan-out
select total, docs from distributed_page(
  ':name', $sql$grams(:search) @> array[left(lower($1), 2)] and strpos(:search, lower($1)) > 0$sql$,
  $sql$length(id::text), :by$sql$, $sql$:documents$sql$, $1, $2, $3::text
);

-- The coordinator gathers the rows of all shards before the first is sent: on disk if the rows exceed work_mem.
-- name: stream fan-out
copy (select distributed_rows($sql$select record.doc from :records order by :order$sql$, :settings)) to stdout (format binary);

-- name: referring ($1 ids, $2 limit) fan-out
select parent, docs from bounded_referring(':name', ':column', $1, $2, :max_bytes, ':too_large');

-- The records that refer to some others and that a caller may read: a query for each id, about `:values`, of which the first is the id.
-- name: referring_readable ($1 ids, $2 limit, $3... values) fan-out
with _total as materialized (
  select sum(bytes::bigint) > :max_bytes as exceeds
  from unnest($1::uuid[]) as given (id), lateral distributed_rows(
    $sql$select octet_length(record.doc)::text from :records order by record.id$sql$, :values, $2::bigint
  ) as bytes
)
select null as parent, ':too_large' as docs from _total where exceeds
union all
select given.id::text, string_agg(record.doc, ',' order by record.place)
from unnest($1::uuid[]) as given (id), lateral distributed_rows(
  $sql$select record.doc from :records order by record.id$sql$, :values, $2::bigint
) with ordinality as record (doc, place)
where (select exceeds from _total) is not true
group by given.id;
