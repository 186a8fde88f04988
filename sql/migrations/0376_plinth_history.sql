-- Changes of records that have a history, since their events have expired. Rows of a deleted record go when its deletion expires.
create table plinth_history (
  collection text not null,
  owner uuid,
  record uuid not null,
  seq bigint not null,
  time timestamptz not null,
  version integer not null,
  kind text not null,
  actor text,
  data text,
  previous text,
  former jsonb,
  primary key (collection, record, seq)
);
create index plinth_history_time on plinth_history (time);

-- Whatever moves the floor of the events, also a version before, moves what expires here.
create function plinth_move_history() returns trigger language plpgsql as $$
declare
  names constant text[] := array(
    select name from collections
    where name in (select distinct split_part(type, '.', 1) from events where seq > old.floor and seq <= new.floor)
      and plinth_newest(collections)::json -> 'x-collection' ->> 'history' = 'true'
  );
begin
  with deletions as materialized (
    select split_part(type, '.', 1) as collection, record, max(seq) as seq
    from events where seq > old.floor and seq <= new.floor and split_part(type, '.', 2) = 'deleted'
    group by collection, record
  ), forgotten as (
    delete from plinth_history as history using deletions
    where history.collection = deletions.collection and history.record = deletions.record
  )
  insert into plinth_history (collection, owner, record, seq, time, version, kind, actor, data, previous, former)
  select collection, owner, record, events.seq, time, version, kind, actor, data, previous, former
  from (
    select split_part(type, '.', 1) as collection, split_part(type, '.', 2) as kind, *
    from events where seq > old.floor and seq <= new.floor
  ) as events
  left join deletions using (collection, record)
  where collection = any (names) and events.seq > coalesce(deletions.seq, 0)
  on conflict do nothing;
  return null;
end $$;

create trigger plinth_moves_history after update of floor on events_floor
  for each row when (new.floor > old.floor) execute function plinth_move_history();
