-- The feed of changes.

-- The outbox: one row for each record that a statement created, changed or deleted, written with it. `seq` is drawn after the
-- statement has locked its records, so that the events of one record are in the order of its changes; the sequence draws one
-- value at a time (cache 1). docs/events.md says up to which number it can be read. Events are in three segments, so that those
-- that have expired are truncated with their segment instead of being deleted one by one.
create table events (
  seq bigint not null generated always as identity (cache 1),
  -- The user who may read it with the scope `self`.
  owner uuid,
  record uuid not null,
  time timestamptz not null default now(),
  -- The record's version after the change; of a deleted record the last one.
  version integer not null,
  type text not null,
  -- The document after the change; none when the record was deleted.
  data text,
  segment smallint not null default 1
) partition by list (segment);
create table events_1 partition of events (primary key (seq)) for values in (1);
create table events_2 partition of events (primary key (seq)) for values in (2);
create table events_3 partition of events (primary key (seq)) for values in (3);

-- Up to which number events have been pruned: those after it are all present.
create table events_floor (floor bigint not null);
insert into events_floor values (0);

-- The segment that new events are written to, since when, and the last event before. The others have earlier events. The
-- numbers are in order across them, although a transaction that has begun to write before a change of the segment writes to
-- the earlier one.
create table event_segment (
  current smallint not null,
  since timestamptz not null,
  after bigint not null
);
insert into event_segment values (1, now(), 0);

-- Segments whose events had all expired at this time.
create table expired_event_segments (
  segment smallint primary key,
  since timestamptz not null default now()
);

-- Bytes of the events up to `until` and after the previous row, measured once by the task that prunes: no writer maintains it.
create table event_bytes (
  until bigint primary key,
  bytes bigint not null
);

-- Tickets for event streams in browsers, which live for seconds: a crash may lose them. `caller` created the ticket, so that
-- one caller cannot use up all tickets.
create unlogged table event_tickets (
  hash bytea primary key,
  principal text not null,
  expires_at timestamptz not null,
  caller text
);
create index event_tickets_caller on event_tickets (caller);

-- The numbers of events continue as long as the database does. After a failover that lost writes, or a restore, numbers
-- that clients know are used again. So each history of the database is an epoch, which cursors name: `first_after` is the
-- last event of the epochs before it.
create table feed_epochs (
  number integer primary key,
  name text not null,
  history text,
  first_after bigint not null
);
insert into feed_epochs (number, name, history, first_after)
values (1, substr(md5(random()::text || clock_timestamp()), 1, 6), null, 0);

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

-- What a restored or promoted server does not share with the one before: the cluster, the database and the timeline. Null
-- where the server does not reveal them.
create function database_history() returns text language plpgsql stable as $$
begin
  return (select system_identifier from pg_control_system())
    || '.' || (select oid from pg_database where datname = current_database())
    || '.' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8);
exception when others then
  return null;
end $$;

-- To be called by each session before it writes. Of sessions that notice a new history at once, one adds the epoch.
create function note_feed_epoch() returns void language plpgsql as $$
declare
  newest feed_epochs;
  present text;
begin
  if pg_is_in_recovery() or current_setting('transaction_read_only') = 'on' then return; end if;
  present := database_history();
  select * into newest from feed_epochs order by number desc limit 1;
  if present is null or newest.history = present then return; end if;
  if newest.history is null then
    update feed_epochs set history = present where number = newest.number and history is null;
    return;
  end if;
  insert into feed_epochs (number, name, history, first_after)
  select newest.number + 1, substr(md5(random()::text || clock_timestamp()), 1, 6), present,
    greatest(floor, (select max(seq) from events))
  from events_floor
  on conflict (number) do nothing;
  delete from feed_epochs where number <= newest.number - 1000;
end $$;
