-- The statements that every collection shares. At start each `:name` is replaced from the collection's
-- declaration, never from a request:
--   :table      the collection's table
--   :rules      the number of its field rules, which every record carries that was checked by them
--   :columns    `, email` ...       the columns of its own, after the four that all have
--   :assigned   `, email = record.email` ... the same, taken from a row
--   :unique     `email, ` ...       those that are unique
--   :values     `, $4` ...          their parameters in create
--   :changes    `, email = $7` ...  their assignments in replace
--   :amended    `, email = coalesce($7, email)` ...  the same in amend
--   :buried     with tombstones, version 0 for an id that was deleted; :buried_many, of several ids, their documents
--   :order      one of the orders that the declaration allows, and :keys the columns it compares
--   :documents  the documents of a page as one text, unless they are to be streamed
--   :document   a document, or of a large one its id and length
--   :bounds     the limit and offset of a streamed page
--   :parent     the column that names the parent record
--   :shallow    where a page must end for `page` to be the statement for it
--   :search     the text that a search looks through, lower-cased
-- An update writes `doc` up to the version and lets PostgreSQL end it, so that the version in the
-- document is the row's without reading the row first.

-- One text of all documents, parted by a character that JSON has not: 1.2 x the rate of a row for each. The id is at the
-- beginning of each, the version at its end; what was deleted has an id alone.
-- name: get ($1 ids)
select string_agg(doc, e'\x1e') as records
from (
  select :document as doc
  from :table
  where id = any ($1::uuid[]):buried_many
) as record;

-- The same where it is known of some where they were last seen: half of PostgreSQL's CPU time, and a third where the table
-- is large, since no index is looked through. What is there may be another record, or nothing: then an id that was asked
-- for is missing among what comes back. What is found by its id has its place before its document.
-- name: get_near ($1 ids, $2 places of others)
select string_agg(doc, e'\x1e') as records
from (
  select :document as doc
  from :table
  where ctid = any ($2::tid[])
  union all
  select ctid::text || :document
  from :table
  where id = any ($1::uuid[]):buried_many
) as record;

-- A large document, of which the statements above give the length alone.
-- name: get_large ($1 id)
select doc, version
from :table
where id = $1;

-- name: exists ($1 id)
select 1 as found
from :table
where id = $1;

-- Whoever writes several records in one transaction locks them first, all in one order.
-- name: lock ($1 ids)
select id
from :table
where id = any ($1::uuid[])
order by id
for update;

-- Only what is below the parent is locked, or waited for.
-- name: lock_owned ($1 ids, $2 parent)
select id
from :table
where id = any ($1::uuid[]) and :parent = $2
order by id
for update;

-- name: owned ($1 id, $2 parent)
select id
from :table
where id = $1 and :parent = $2;

-- name: create ($1 id, $2 updated_at, $3 doc, $4... own columns)
insert into :table (id, updated_at, rules, doc:columns)
values ($1, $2, :rules, $3:values);

-- Records that came together, as a JSON array of rows. One that conflicts is left out, and the caller sees by the
-- keys that come back. In one order, so that two such statements wait for each other in one direction only.
-- name: create_many ($1 rows)
with record as materialized (
  select * from json_populate_recordset(cast(null as :table), $1::text::json) with ordinality
), created as (
  insert into :table (id, version, updated_at, rules, doc:columns)
  select id, version, updated_at, :rules, doc:columns from record order by :unique id
  on conflict do nothing
  returning id
)
select ordinality::integer as key from created join record using (id);

-- The three parameters of a guard are null where nothing is asked: the versions of which it must have one,
-- those of which it must have none, and the second after which it must not have been changed. What was found
-- goes back only when nothing was written, to tell why.
-- name: replace ($1 id, $2 $3 $4 guard, $5 updated_at, $6 doc up to the version, $7... own columns)
with found as (
  select version, doc from :table where id = $1:buried
), written as (
  update :table
  set version = version + 1,
    updated_at = $5,
    rules = :rules,
    doc = $6::text || (version + 1)::text || '}':changes
  where id = $1
    and version = any (coalesce($2::integer[], array[version]))
    and version <> all (coalesce($3::integer[], '{}'))
    and date_trunc('second', updated_at) <= coalesce($4::timestamptz, 'infinity')
  returning version
)
select found.version as before, written.version as after,
  case when written.version is null then found.doc end as doc
from found
left join written on true;

-- Fields laid over those of a record that is known to keep the rules, without reading it first. What stands before and
-- after the fields is as long in every document (record.ts).
-- name: amend ($1 id, $2 version or null, $3 updated_at, $4 names, $5 values as JSON, $6 bytes of the longest document, $7... own columns or null)
update :table
set version = version + 1,
  updated_at = $3::text::timestamptz,
  doc = left(doc, 44)
    || coalesce(',' || nullif(lay_over(substr(doc, 46, greatest(length(doc) - 138 - length(version::text), 0)), $4, $5), ''), '')
    || substr(doc, length(doc) - 92 - length(version::text), 55) || $3::text
    || '","_version":' || (version + 1)::text || '}':amended
where id = $1 and version = coalesce($2, version) and rules = :rules and octet_length(doc) <= $6
returning version, doc;

-- Each row has the version that the record is to have after it; it is written if the record has the one before.
-- name: replace_many ($1 rows, in the order of their ids)
update :table as current
set version = record.version, updated_at = record.updated_at, rules = :rules, doc = record.doc:assigned
from json_populate_recordset(cast(null as :table), $1::text::json) with ordinality as record
where current.id = record.id and current.version = record.version - 1
returning record.ordinality::integer as key;

-- name: remove ($1 id)
delete from :table
where id = $1;

-- name: remove_if ($1 id, $2 $3 $4 guard)
with found as (
  select version, doc from :table where id = $1
), removed as (
  delete from :table
  where id = $1
    and version = any (coalesce($2::integer[], array[version]))
    and version <> all (coalesce($3::integer[], '{}'))
    and date_trunc('second', updated_at) <= coalesce($4::timestamptz, 'infinity')
  returning version
)
select found.version as before, removed.version as after, found.doc
from found
left join removed on true;

-- The total and the page are one statement, so they come from one snapshot, and the documents come as one text, ready
-- to go out. A page near the beginning is read along the order's index. The planner takes a tenth of the table for a
-- limit that it does not know, so it is told that these pages end before :shallow.
-- name: page ($1 limit, $2 offset)
with total as (
  select coalesce((select total from blocks where collection = ':table'), 0)
    + coalesce((select sum(delta) from counts where collection = ':table'), 0)::bigint as total
)
select total.total, (
  select :documents
  from (select * from (select * from :table order by :order limit :shallow) as near order by :order limit $1 offset $2) as record
) as docs
from total;

-- A page further on: its ids are found in the index alone; only the rows of the page itself are read (:record), one
-- by one, whatever the planner thinks of their number.
-- name: page_deep ($1 limit, $2 offset)
with total as (
  select coalesce((select total from blocks where collection = ':table'), 0)
    + coalesce((select sum(delta) from counts where collection = ':table'), 0)::bigint as total
), page as materialized (
  select id from :table order by :order limit $1 offset $2
)
select total.total, (
  select :documents from page, lateral :record as record
) as docs
from total;

-- A page deep inside the default order: it starts in the last counted block before it instead of at the list's
-- end, so that a page costs the records of a block wherever it is. `position` is the place of its first record,
-- oldest first. What has been written since the blocks were added up is in `delta`; a block that these leave in
-- doubt is not used, and that page is counted from the start.
-- name: page_counted ($1 limit, $2 offset)
with delta as materialized (
  select at, delta from counts where collection = ':table'
), list as materialized (
  select coalesce(starts, '{0}') as starts, coalesce(before, '{0}') as before,
    coalesce(blocks.total, 0) + changed.total as total, changed.added
  from (
    select coalesce(sum(delta), 0)::bigint as total, coalesce(sum(greatest(delta, 0)), 0)::bigint as added from delta
  ) as changed
  left join blocks on collection = ':table'
), near as materialized (
  select starts, before, total, :position as position, :rows as rows,
    greatest(width_bucket(:position - added, before), 1) as block
  from list
), place as materialized (
  select total, rows, position, starts[block] as start,
    position - before[block] - (select coalesce(sum(delta), 0)::bigint from delta where at < starts[block]) as skipped
  from near
), page as materialized (
  select id
  from :table
  where id >= (select first_id(case when skipped >= 0 then start else 0 end) from place)
  order by id
  limit (select rows from place)
  offset (select case when skipped >= 0 then skipped else position end from place)
)
select place.total, (
  select :documents from page, lateral :record as record
) as docs
from place;

-- name: page_of_parent ($1 limit, $2 offset, $3 parent)
with total as (
  select count(*) as total from :table where :parent = $3
), page as materialized (
  select id from :table where :parent = $3 order by :order limit $1 offset $2
)
select total.total, (
  select :documents from page, lateral :record as record
) as docs
from total;

-- Matches first, then the order: left to choose, the planner walks the order's index for a term whose
-- matches are all at its far end.
-- name: page_matching ($1 limit, $2 offset, $3 pattern)
with match as materialized (
  select id:keys from :table where :search like lower($3)
), total as (
  select count(*) as total from match
), page as materialized (
  select id from match order by :order limit $1 offset $2
)
select total.total, (
  select :documents from page, lateral :record as record
) as docs
from total;

-- The same for a term that many records match: its page is looked for among those that come first in the order, and when
-- it is there, the other matches are counted and nothing else. 1.3 x the rate, but planning it takes 0.2 ms more.
-- name: page_matching_common ($1 limit, $2 offset, $3 pattern)
with near as materialized (
  select id
  from (select * from :table order by :order limit :shallow) as first
  where :search like lower($3)
  order by :order limit $1 offset $2
), found as materialized (
  select count(*) = $1 as near from near
), match as materialized (
  select id:keys from :table where :search like lower($3)
), page as materialized (
  select id from near where (select near from found)
  union all
  (select id from match where not (select near from found) order by :order limit $1 offset $2)
), total as (
  select case
    when near then (select count(*) from :table where :search like lower($3))
    else (select count(*) from match)
  end as total
  from found
)
select total.total, (
  select :documents from page, lateral :record as record
) as docs
from total;

-- A term without a trigram is looked up by its first one or two characters. strpos, not like: like would
-- have the planner read all of the trigram index too.
-- name: page_matching_short ($1 limit, $2 offset, $3 term)
with match as materialized (
  select id:keys from :table
  where grams(:search) @> array[left(lower($3), 2)] and strpos(:search, lower($3)) > 0
), total as (
  select count(*) as total from match
), page as materialized (
  select id from match order by :order limit $1 offset $2
)
select total.total, (
  select :documents from page, lateral :record as record
) as docs
from total;

-- Whole lists leave by COPY: one statement, so one snapshot, and no row becomes an object on its way.
-- The binary format hands a document over as it is; CSV looks at each of its characters for what to quote, which took
-- PostgreSQL twice the time. COPY takes no parameters: what a stream is narrowed by is a setting of its transaction,
-- never text of the statement.
-- name: stream
copy (select doc from :table order by :order:bounds)
to stdout (format binary);

-- name: stream_of_parent (plinth.parent)
copy (select doc from :table where :parent = current_setting('plinth.parent')::uuid order by :order:bounds)
to stdout (format binary);

-- name: stream_matching (plinth.pattern)
copy (
  with match as materialized (
    select id:keys from :table where :search like lower(current_setting('plinth.pattern'))
  )
  select record.doc from match join :table as record on record.id = match.id order by :match_order:bounds
)
to stdout (format binary);

-- name: stream_matching_short (plinth.term)
copy (
  with match as materialized (
    select id:keys from :table
    where grams(:search) @> array[left(lower(current_setting('plinth.term')), 2)]
      and strpos(:search, lower(current_setting('plinth.term'))) > 0
  )
  select record.doc from match join :table as record on record.id = match.id order by :match_order:bounds
)
to stdout (format binary);
