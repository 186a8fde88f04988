-- Reads by id. At start each `:name` is replaced from the collection's declaration, never from a request:
--   :table           the collection's table with its schema, so that no query of a statement has its name
--   :name            the collection's name
--   :document        a document, or the id and length of a large one (src/collection/document.ts)
--   :separator       the character between two documents
--   :tombstones      with TOMBSTONES, the deleted records among several ids

-- One text of all documents: a row for each would be slower.
-- name: get ($1 ids)
select string_agg(doc, :separator) as records
from (
  select :document as doc
  from :table
  where id = any ($1::uuid[]):tombstones
) as record;

-- A large document, of which `get` returns only the length.
-- name: get_large ($1 id)
select doc, version
from :table
where id = $1;

-- name: exists ($1 id)
select 1 as found
from :table
where id = $1;

-- A transaction that writes several records locks them first, always in the order of their ids.
-- name: lock ($1 ids)
select id
from :table
where id = any ($1::uuid[])
order by id
for update;
