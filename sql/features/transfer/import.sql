-- Imports. A batch is one transaction: its records, the ids to which others may refer, and the progress.

-- name: lock_import ($1 key)
select pg_try_advisory_lock(x'706c6e74'::integer, hashtext($1)) as locked;

-- Progress of imports that nobody has continued for a week is forgotten.
-- name: forget_old
with old as (
  delete from imports where updated_at < now() - interval '7 days' returning key
), deferred as (
  delete from plinth_import_references where key in (select key from old)
)
delete from import_ids where key in (select key from old);

-- name: progress ($1 key)
select collection, json_build_object(
  'position', position, 'place', place, 'stored', stored, 'refused', refused, 'unchanged', unchanged,
  'retainsIds', retains_ids, 'finished', finished
)::text as progress
from imports
where key = $1;

-- name: restart ($1 key)
with ids as (
  delete from import_ids where key = $1
), deferred as (
  delete from plinth_import_references where key = $1
)
delete from imports where key = $1;

-- name: record_progress ($1 key, $2 collection, $3 position, $4 place, $5 stored, $6 refused, $7 unchanged, $8 retains_ids, $9 finished)
insert into imports (key, collection, position, place, stored, refused, unchanged, retains_ids, finished)
values ($1, $2, $3, $4, $5, $6, $7, $8::text::boolean, $9::text::boolean)
on conflict (key, collection) do update
set position = excluded.position, place = excluded.place, stored = excluded.stored, refused = excluded.refused,
  unchanged = excluded.unchanged, finished = excluded.finished, updated_at = now();

-- name: record_ids ($1 key, $2 collection, $3 ids, as a JSON array of pairs)
insert into import_ids (key, collection, old, id)
select distinct on (old) $1, $2, pair->>0 as old, (pair->>1)::uuid
from json_array_elements($3::text::json) with ordinality as pairs (pair, position)
order by old, position desc
on conflict (key, collection, old) do update set id = excluded.id;

-- name: forget_ids ($1 key)
delete from import_ids where key = $1;

-- An import of an earlier version, which has left references to later records to be set, or has registered ids in advance.
-- name: begun_before ($1 key)
select from plinth_import_references where key = $1
union all
select from imports where key = $1 and collection like '%#'
limit 1;

-- Draws the next numbers of series, after those that the records of the batch have already. :last is the last one by the records.
-- name: draw_numbers ($1 collection, $2 field, $3 series, as a JSON array)
insert into plinth_numbers as present (collection, field, parent, last, drawn)
select $1, $2, series.parent, greatest(least, case
  when exists (
    select from plinth_numbers as known
    where known.collection = $1 and known.field = $2 and known.parent = series.parent
  ) then 0
  else :last
end) + series.drawn, series.drawn
from json_to_recordset($3::text::json) as series (parent uuid, drawn integer, least bigint)
order by series.parent
on conflict (collection, field, parent) do update
set last = greatest(present.last, excluded.last - excluded.drawn) + excluded.drawn, drawn = excluded.drawn
returning parent::text, (last - drawn)::text as before;

-- name: find_ids ($1 key, $2 collection, $3 old ids, as a JSON array)
select old, id from import_ids
where key = $1 and collection = $2 and old in (select json_array_elements_text($3::text::json));

-- Records that a batch refers to, locked until it is committed.
-- name: existing ($1 ids, as a JSON array)
select id from :table
where id = any (array(select json_array_elements_text($1::text::json))::uuid[])
order by id
for key share;

-- A record with each of given values of columns, and whether others have these, too.
-- name: find_by_values ($1 rows, as a JSON array)
select :values min(current.id::text) as id, count(*) > 1 as is_ambiguous
from json_to_recordset($1::text::json) as given (:given)
join :table as current on :equal
group by :columns;

-- name: copy_records
copy :table (id, version, updated_at, doc:columns) from stdin;

-- name: taken ($1 ids, as a JSON array)
select id from :table
where id = any (array(select json_array_elements_text($1::text::json))::uuid[]);

-- Records whose stored documents have the members of the given ones, in any order.
-- name: equal_records ($1 places, ids and documents without what a write changes, as a JSON array)
select given.place
from json_to_recordset($1::text::json) as given (place bigint, id uuid, members text)
join :table as current on current.id = given.id
where (:unchanged || '}')::jsonb = (given.members || '}')::jsonb;

-- name: replace_records ($1 rows with documents up to the version, as a JSON array)
update :table as current
set version = current.version + 1,
  updated_at = record.updated_at,
  doc = record.doc || (current.version + 1)::text || '}':assigned
from :given_rows as record
where current.id = record.id;

-- Deleted records that come back.
-- name: forget_tombstones ($1 ids, as a JSON array)
delete from tombstones
where id = any (array(select json_array_elements_text($1::text::json))::uuid[]);

-- name: set_passwords ($1 ids and hashes, as a JSON array of pairs)
insert into passwords (user_id, hash)
select (pair->>0)::uuid, pair->>1 from json_array_elements($1::text::json) as pairs (pair)
on conflict (user_id) do update set hash = excluded.hash, version = passwords.version + 1;

-- name: is_empty
select not exists (select from :table) as empty;

-- Exports read one snapshot.
-- name: begin_export
begin isolation level repeatable read read only;

-- name: copy_documents
copy (select doc from :table order by id) to stdout;

-- The names of all fields that records have.
-- name: field_names
select distinct key.name from :table as record, json_object_keys(record.doc::json) as key (name) order by key.name;
