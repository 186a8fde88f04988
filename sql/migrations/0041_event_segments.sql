-- The segment that new events are written to, since when, and the last event before. The others have earlier events.
create table event_segment (
  current smallint not null,
  since timestamptz not null,
  after bigint not null
);
insert into event_segment select 1, now(), floor from events_floor;

-- Events in three segments. The numbers are in order across them, although a transaction that has begun to write before a
-- change of the segment writes to the earlier one.
lock table events in access exclusive mode;
alter table events rename to events_1;
alter index events_pkey rename to events_1_pkey;

do $$
declare
  drawn record;
begin
  select last_value, is_called into drawn from events_seq_seq;
  alter table events_1 alter seq drop identity;
  create table events (
    seq bigint not null generated always as identity (cache 1),
    owner uuid,
    record uuid not null,
    time timestamptz not null default now(),
    version integer not null,
    type text not null,
    data text,
    segment smallint not null default 1
  ) partition by list (segment);
  perform setval('events_seq_seq', drawn.last_value, drawn.is_called);
end $$;

alter table events attach partition events_1 for values in (1);
alter table events_1 drop constraint is_first_segment;
create table events_2 partition of events (primary key (seq)) for values in (2);
create table events_3 partition of events (primary key (seq)) for values in (3);

-- Truncates the segments whose events have all expired, except the current one, and returns whether there were any. A segment
-- that somebody uses is left to the next call.
create function truncate_expired_events() returns boolean language plpgsql set lock_timeout = '50ms' as $$
declare
  each smallint;
  newest bigint;
  is_any boolean := false;
begin
  foreach each in array array[1, 2, 3] loop
    continue when each = (select current from event_segment);
    select max(seq) into newest from events where segment = each;
    continue when newest is null or newest > (select floor from events_floor);
    begin
      execute format('lock table events_%s in access exclusive mode', each);
      -- Transactions that had written to it meanwhile have ended.
      select max(seq) into newest from events where segment = each;
      if newest <= (select floor from events_floor) then
        execute format('truncate events_%s', each);
        is_any := true;
      end if;
    exception when lock_not_available then null;
    end;
  end loop;
  return is_any;
end $$;

-- The function that writes the events of a collection's table. `owner` is SQL for the id of the user who may read a record's
-- events with the scope `self`.
create function create_event_function(table_name name, owner text) returns void language plpgsql as $$
begin
  execute format(
    $function$
      create or replace function %I() returns trigger language plpgsql as $body$
      begin
        insert into events (segment, owner, record, version, type, data)
        select (select current from event_segment), %s, id, version,
          %L || case tg_op when 'INSERT' then 'created' when 'UPDATE' then 'updated' else 'deleted' end,
          case when tg_op <> 'DELETE' then doc end
        from changed;
        return null;
      end $body$
    $function$,
    table_name || '_note_events', owner, table_name || '.'
  );
end $$;

-- Attaches counting and events to a collection's table. `owner` is the column with the id of the user who may read a
-- record's events with the scope `self`; null: nobody.
create or replace function attach_collection(collection regclass, owner name default null) returns void language plpgsql as $$
declare
  table_name constant name := (select relname from pg_class where oid = collection);
  change record;
begin
  perform create_event_function(table_name, coalesce(quote_ident(owner), 'null::uuid'));
  for change in
    select * from (values
      ('insert', 'new', 'created', 'inserted'), ('update', 'new', 'updated', null), ('delete', 'old', 'deleted', 'deleted')
    ) as changes (operation, transition, event, counted)
  loop
    execute format(
      'create or replace trigger %I after %s on %s referencing %s table as changed for each statement
        when (current_setting(''plinth.events'', true) is distinct from ''off'') execute function %I()',
      table_name || '_' || change.event || '_events', change.operation, collection, change.transition,
      table_name || '_note_events'
    );
    if change.counted is not null then
      execute format(
        'create or replace trigger %I after %s on %s referencing %s table as changed for each statement
          execute function %I()',
        table_name || '_' || change.counted, change.operation, collection, change.transition, 'count_' || change.counted
      );
    end if;
  end loop;
end $$;

-- The tables that are attached.
do $$
declare
  attached record;
begin
  for attached in
    select distinct relname, substring(prosrc from 'select (.+), id, version') as owner
    from pg_trigger
    join pg_class on pg_class.oid = tgrelid
    join pg_proc on pg_proc.oid = tgfoid
    where proname = relname || '_note_events' and pg_class.relnamespace = current_schema()::regnamespace
  loop
    perform create_event_function(attached.relname, attached.owner);
  end loop;
end $$;
