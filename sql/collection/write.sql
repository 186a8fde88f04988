-- Writes. Besides the names of read.sql:
--   :columns    `, email` ...                   the collection's own columns, after the four that all collections have
--   :assigned   `, email = record.email` ...    the same, assigned from a row
--   :unique     `email, ` ...                   those that are unique
--   :given_rows       the rows of $1 with their positions. The table is not named as a type: one of PostgreSQL can have its name
--   :values     `, $4` ...                      their parameters in create
--   :changes    `, email = $7` ...              their assignments in replace
--   :tombstone  with TOMBSTONES, version 0 for a deleted id
--   :acting     the setting with the actors of the statement, for the triggers that write events; it precedes the triggers
--               of a deletion, and :act_after_create and :act_after_replace those after a statement
-- An update writes the document up to the version and lets PostgreSQL end it, so that the document contains the row's
-- new version without reading the row first.

-- name: create ($1 id, $2 updated_at, $3 doc, $4... own columns, actor)
insert into :table (id, updated_at, doc:columns)
values ($1, $2, $3:values)
returning :act_after_create;

-- Writes nothing if there is a record with the id.
-- name: create_with_id ($1 id, $2 updated_at, $3 doc, $4... own columns, actor)
insert into :table (id, updated_at, doc:columns)
values ($1, $2, $3:values)
on conflict (id) do nothing
returning 1 as created, :act_after_create;

-- Whether a record with the id has been deleted. It follows create_with_id in a transaction, which sees each deletion that made
-- the id free.
-- name: deleted ($1 id)
select 1 from tombstones where id = $1 and :has_tombstones;

-- Makes transactions that write the record of one unique key wait for each other, also while there is none.
-- name: lock_key ($1 key)
select 1 as locked from pg_advisory_xact_lock(hashtextextended($1, 0));

-- Several records, as a JSON array of rows. A row that conflicts is left out; the returned keys tell which were written.
-- The rows are written in one order, so that two such statements cannot deadlock.
-- name: create_many ($1 rows, $2 actors)
with record as materialized (
  select * from :given_rows
), created as (
  insert into :table (id, version, updated_at, doc:columns)
  select id, version, updated_at, doc:columns from record, :acting order by :unique id
  on conflict do nothing
  returning id
)
select ordinality::integer as key from created join record using (id);

-- Several records with numbers, which are drawn in the order of their ids. A record whose id is in use is left out; any other
-- conflict fails the statement, so that no number is lost. A series without a row continues what the records have.
-- :series lists the series of a record, :last their last numbers by the records.
-- name: create_numbered ($1 rows, $2 actors)
with record as materialized (
  select given.* from :given_rows as given
  where not exists (select from :table as present where present.id = given.id)
), series as (
  select index, field, parent, count(*)::integer as records
  from record
  cross join lateral (values :series) as series (index, field, parent)
  group by index, field, parent
), raised as (
  insert into plinth_numbers as present (collection, field, parent, last, drawn)
  select ':name', field, parent, records + case
    when exists (
      select from plinth_numbers as known
      where known.collection = ':name' and known.field = series.field and known.parent = series.parent
    ) then 0
    else case index :last end
  end, records
  from series
  order by field, parent
  on conflict (collection, field, parent) do update set last = present.last + excluded.drawn, drawn = excluded.drawn
  returning field, parent, last - drawn as before
), numbered as materialized (
  select record.*:numbers
  from record:series_of
), created as (
  insert into :table (id, version, updated_at, doc:columns)
  select id, version, updated_at, :numbered_doc:numbered_columns from numbered, :acting order by id
)
select ordinality::integer as key:drawn from numbered;

-- Makes transactions that draw numbers of these series wait for each other.
-- name: lock_numbers ($1 parents)
select 1 as locked from plinth_numbers
where collection = ':name' and parent = any ($1::uuid[])
order by field, parent
for update;

-- The three parameters of the preconditions, each null if it does not apply: the versions of which the record must have
-- one, those of which it must have none, and the second after which it must not have been changed. The record found is
-- returned only if nothing was written, so that the response can explain why.
-- name: replace ($1 id, $2 $3 $4 preconditions, $5 updated_at, $6 doc up to the version, $7... own columns, actor)
with _found as (
  select version, doc from :table where id = $1:tombstone
), written as (
  update :table as current
  set version = version + 1,
    updated_at = $5,
    doc = $6::text || (version + 1)::text || '}':changes
  where id = $1
    and version = any (coalesce($2::integer[], array[version]))
    and version <> all (coalesce($3::integer[], '{}'))
    and date_trunc('second', updated_at) <= coalesce($4::timestamptz, 'infinity')
  returning version, :act_after_replace
)
select _found.version as before, written.version as after,
  case when written.version is null then _found.doc end as doc
from _found
left join written on true;

-- Each row has the version that the record gets; it is written if the record has the version before.
-- name: replace_many ($1 rows, in the order of their ids, $2 actors)
update :table as current
set version = record.version, updated_at = record.updated_at, doc = record.doc:assigned
from :given_rows as record, :acting
where current.id = record.id and current.version = record.version - 1
returning record.ordinality::integer as key;

-- name: remove ($1 id, $2 actor)
delete from :table
using :acting
where id = $1;

-- Several records. Each is deleted if it has the version, or whichever it has if that is null.
-- name: remove_many ($1 ids, $2 versions, $3 actor)
delete from :table as current
using unnest($1::uuid[], $2::integer[]) as given (id, version), set_config('plinth.actor', $3, true) as actor$
where current.id = given.id and current.version = coalesce(given.version, current.version)
returning current.id;

-- name: remove_if ($1 id, $2 $3 $4 preconditions, $5 actor)
with _found as (
  select version, doc from :table where id = $1
), removed as (
  delete from :table
  using set_config('plinth.actor', $5, true) as actor$
  where id = $1
    and version = any (coalesce($2::integer[], array[version]))
    and version <> all (coalesce($3::integer[], '{}'))
    and date_trunc('second', updated_at) <= coalesce($4::timestamptz, 'infinity')
  returning version
)
select _found.version as before, removed.version as after, _found.doc
from _found
left join removed on true;
