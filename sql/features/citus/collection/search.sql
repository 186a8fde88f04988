-- Searches of distributed collections: fan-outs that look for the term in the index of each shard. Each id has the same
-- length, but the planner does not know: otherwise it would walk the order's index for a term whose matches are all at its
-- far end.

-- name: page_matching ($1 limit, $2 offset, $3 pattern) fan-out
select total, docs from distributed_page(
  ':name', $sql$:search like lower($1)$sql$, $sql$length(id::text), :by$sql$, $sql$:documents$sql$, $1, $2, $3::text
);

-- name: page_matching_short ($1 limit, $2 offset, $3 term) fan-out
select total, docs from distributed_page(
  ':name', $sql$grams(:search) @> array[left(lower($1), 2)] and strpos(:search, lower($1)) > 0$sql$,
  $sql$length(id::text), :by$sql$, $sql$:documents$sql$, $1, $2, $3::text
);
