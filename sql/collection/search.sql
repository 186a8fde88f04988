-- Pages of a list with a search. Besides the names of page.sql:
--   :search  the text that is searched, in lower case
--   :keys    the columns that the order compares

-- Matches first, then the order: otherwise the planner walks the order's index for a term whose matches are all at its
-- far end.
-- name: page_matching ($1 limit, $2 offset, $3 pattern)
with match as materialized (
  select id:keys from :table where :search like lower($3)
), total as (
  select count(*) as total from match
), page as materialized (
  select id from match order by :by limit $1 offset $2
)
select total.total, (
  select :documents from page, lateral :record as record
) as docs
from total;

-- A term without a trigram is looked up by its first one or two characters. strpos instead of like, since like would make
-- the planner read all of the trigram index too.
-- name: page_matching_short ($1 limit, $2 offset, $3 term)
with match as materialized (
  select id:keys from :table
  where grams(:search) @> array[left(lower($3), 2)] and strpos(:search, lower($3)) > 0
), total as (
  select count(*) as total from match
), page as materialized (
  select id from match order by :by limit $1 offset $2
)
select total.total, (
  select :documents from page, lateral :record as record
) as docs
from total;
