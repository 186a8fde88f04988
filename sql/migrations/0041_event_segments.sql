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

-- The segment to use after the current one: the next empty one; null if none is empty.
create function next_event_segment() returns smallint language plpgsql as $$
declare
  present constant smallint := (select current from event_segment);
  each smallint;
begin
  foreach each in array array[present % 3 + 1, (present + 1) % 3 + 1] loop
    if not exists (select from events where segment = each) then
      return each;
    end if;
  end loop;
  return null;
end $$;

-- Segments whose events had all expired at this time.
create table expired_event_segments (
  segment smallint primary key,
  since timestamptz not null default now()
);

-- Truncates a segment other than the current one whose events had all expired a minute ago, and returns whether there was
-- one. By then a dump that began before they expired has locked the segment. One that another transaction has locked is left
-- to the next call.
create function truncate_expired_events() returns boolean language plpgsql set lock_timeout = '50ms' as $$
declare
  each smallint;
  newest bigint;
begin
  -- The look after the lock needs a snapshot of its own.
  if current_setting('transaction_isolation') <> 'read committed' or not pg_try_advisory_xact_lock(1886154356, 3) then
    return false;
  end if;
  foreach each in array array[1, 2, 3] loop
    select max(seq) into newest from events where segment = each;
    if newest is null or newest > (select floor from events_floor) or each = (select current from event_segment) then
      delete from expired_event_segments where segment = each;
      continue;
    end if;
    insert into expired_event_segments (segment) values (each) on conflict do nothing;
    continue when (select since from expired_event_segments where segment = each) > now() - interval '1 minute';
    begin
      execute format('lock table events_%s in access exclusive mode', each);
      -- Transactions that had written to it meanwhile have ended.
      select max(seq) into newest from events where segment = each;
      if newest <= (select floor from events_floor) then
        execute format('truncate events_%s', each);
        delete from expired_event_segments where segment = each;
        return true;
      end if;
    exception when lock_not_available then null;
    end;
  end loop;
  return false;
end $$;

-- Functions that write events write them to the current segment: those of tables, and the function that creates them.
do $$
declare
  writer oid;
begin
  for writer in
    select oid from pg_proc where prosrc ~ 'insert into events \(owner, record, version, type, data\)\s+select '
  loop
    execute regexp_replace(
      pg_get_functiondef(writer),
      'insert into events \(owner, record, version, type, data\)(\s+)select ',
      'insert into events (segment, owner, record, version, type, data)\1select (select current from event_segment), '
    );
  end loop;
end $$;
