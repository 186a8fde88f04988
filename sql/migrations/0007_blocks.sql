-- Totals and places without counting. `counts` still gets rows of every statement that inserts or deletes, now
-- with the moment in the records' ids; what has been added up goes to `blocks`, which also knows how many
-- records come before certain moments. A page deep inside a list starts at the last of those before it.
create table blocks (
  collection text primary key,
  total bigint not null default 0,
  -- The moments at which blocks start, ascending, the first 0, and the number of records before each.
  starts bigint[] not null default '{0}',
  before bigint[] not null default '{0}'
);

-- Numbers in order hardly compress, and would be decompressed at every look.
alter table blocks alter starts set storage external, alter before set storage external;

-- Milliseconds since 1970: the first 48 bits of a UUIDv7 (RFC 9562 section 5.7).
create function moment_of(id uuid) returns bigint
  language sql immutable strict parallel safe
  return ('x' || translate(left(id::text, 13), '-', ''))::bit(48)::bigint;

-- The least id of a moment.
create function first_id(moment bigint) returns uuid
  language sql immutable strict parallel safe
  return (overlay(lpad(to_hex(moment), 12, '0') placing '-' from 9 for 0) || '-0000-0000-000000000000')::uuid;

-- Waits until everybody who has written a row without a moment is done.
alter table counts add column at bigint not null default 0;
insert into blocks (collection, total) select collection, sum(delta) from counts group by collection;
delete from counts;
alter table counts alter at drop default;
drop index counts_collection;
create index counts_collection on counts (collection) include (at, delta);

-- Many records at once are told by block, not by moment, and hold the blocks as they are until the commit.
create function note_changes(name text, moments bigint[], sign integer) returns void language plpgsql as $$
declare
  bounds bigint[];
begin
  if cardinality(moments) <= 300 then
    insert into counts (collection, at, delta)
    select name, at, sign * count(*) from unnest(moments) as at group by at;
  else
    insert into blocks (collection) values (name) on conflict do nothing;
    select starts into bounds from blocks where collection = name for share;
    insert into counts (collection, at, delta)
    select name, bounds[width_bucket(at, bounds)], sign * count(*) from unnest(moments) as at group by 2;
  end if;
end $$;

create or replace function count_inserted() returns trigger language plpgsql as $$
begin
  perform note_changes(tg_table_name, array(select moment_of(id) from changed), 1);
  return null;
end $$;

create or replace function count_deleted() returns trigger language plpgsql as $$
begin
  perform note_changes(tg_table_name, array(select moment_of(id) from changed), -1);
  if current_setting('plinth.tombstones', true) = 'on' then
    insert into tombstones (id) select id from changed on conflict do nothing;
  end if;
  return null;
end $$;
