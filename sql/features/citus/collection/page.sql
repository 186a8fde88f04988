-- Pages of distributed collections: sql/collection/page.sql says what the names are. Each is a fan-out that reads up to
-- offset + limit entries of an index in each shard, besides page_of_parent, which reads one shard.

-- name: page ($1 limit, $2 offset) fan-out
select total, docs from distributed_page(':name', 'true', $sql$:by$sql$, $sql$:documents$sql$, $1, $2);

-- name: page_deep ($1 limit, $2 offset) fan-out
select total, docs from distributed_page(':name', 'true', $sql$:by$sql$, $sql$:documents$sql$, $1, $2);

-- name: page_counted ($1 limit, $2 offset) fan-out
select total, docs from counted_page(':name', ':by' = 'id desc', $sql$:documents$sql$, $1, $2);

-- name: page_of_parent ($1 limit, $2 offset, $3 parent)
select total, docs
from distributed_page(':name', ':parent = $1::uuid', $sql$:by$sql$, $sql$:documents$sql$, $1, $2, $3::text);
