-- Whole lists of distributed collections. The coordinator gathers the rows of all shards before the first is sent: on disk
-- if they exceed work_mem.

-- name: stream
copy (select distributed_rows($sql$select doc from :table order by :by$sql$, null)) to stdout (format binary);

-- name: stream_of_parent (plinth.parent)
copy (
  select distributed_rows(
    $sql$select doc from :table where :parent = ($1)[1]::uuid order by :by$sql$,
    array[current_setting('plinth.parent')]
  )
) to stdout (format binary);

-- name: stream_matching (plinth.pattern)
copy (
  select distributed_rows(
    $sql$select doc from :table where :search like lower(($1)[1]) order by :by$sql$,
    array[current_setting('plinth.pattern')]
  )
) to stdout (format binary);

-- name: stream_matching_short (plinth.term)
copy (
  select distributed_rows(
    $sql$select doc from :table
      where grams(:search) @> array[left(lower(($1)[1]), 2)] and strpos(:search, lower(($1)[1])) > 0 order by :by$sql$,
    array[current_setting('plinth.term')]
  )
) to stdout (format binary);
