-- Webhooks and the deliveries of events to them.

-- Receivers of events, and the secret that signs what is sent to each. An HMAC needs the secret itself, so it is stored as it
-- is: everybody who reads this table can sign.
create table webhooks (
  id uuid primary key,
  url text not null,
  types text[] not null,
  description text not null,
  enabled boolean not null,
  -- Why the service disabled it; null: it did not.
  disabled_reason text,
  secret text not null,
  previous_secret text,
  previous_until timestamptz,
  -- Its last attempt failed: one attempt at a time until one succeeds.
  failing boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- Events that were deleted before they became deliveries, because they came to twice the limit.
  dropped_events bigint not null default 0,
  -- A change of a webhook can be conditional on its version (If-Match), as that of a record.
  version integer not null default 1
);

-- The position in the feed up to which deliveries have been made; its row is the lock of the process that makes them.
create table webhook_cursor (
  single boolean primary key default true check (single),
  position text
);
insert into webhook_cursor default values;

-- One event on its way to one webhook. There is no foreign key: deleting a webhook must not wait for a million deliveries,
-- which are pruned in the background. Deliveries are in three segments, so that those that have expired are truncated with
-- their segment.
create table deliveries (
  -- Those of one record and webhook are sent in this order.
  id bigint not null generated always as identity,
  webhook_id uuid not null,
  event_id text not null,
  type text not null,
  record_key text not null,
  -- Null: the body is in delivery_bodies.
  body text,
  status text not null default 'pending' check (status in ('pending', 'delivered', 'dead')),
  tries integer not null default 0,
  -- When it may be attempted, or while it has an owner, when the lease of that owner ends; null: an earlier delivery of the
  -- record is pending, and its end will set this.
  next_at timestamptz,
  -- Which attempt of which process has the lease.
  owner uuid,
  -- When it became due at first; the time for retries counts from here.
  due_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  tried_at timestamptz,
  ended_at timestamptz,
  last_status integer,
  last_error text,
  last_body text,
  segment smallint not null default 1
) partition by list (segment);
create table deliveries_1 partition of deliveries (primary key (id)) for values in (1);
create table deliveries_2 partition of deliveries (primary key (id)) for values in (2);
create table deliveries_3 partition of deliveries (primary key (id)) for values in (3);
-- The indexes of the first segment have names of their own in each database, so that a later migration can name them.
create index deliveries_1_webhook on deliveries_1 (webhook_id, id);
create index deliveries_1_dead on deliveries_1 (webhook_id, id) where status = 'dead';
create index deliveries_1_due on deliveries_1 (webhook_id, next_at, id) where status = 'pending' and next_at is not null;
create index deliveries_1_leased on deliveries_1 (webhook_id) where owner is not null;
create index deliveries_1_record on deliveries_1 (webhook_id, record_key, id) where status = 'pending';
create index deliveries_1_ended on deliveries_1 (ended_at) where ended_at is not null;
create index deliveries_1_event on deliveries_1 (event_id);
create index deliveries_webhook on deliveries (webhook_id, id);
create index deliveries_dead on deliveries (webhook_id, id) where status = 'dead';
create index deliveries_due on deliveries (webhook_id, next_at, id) where status = 'pending' and next_at is not null;
create index deliveries_leased on deliveries (webhook_id) where owner is not null;
create index deliveries_record on deliveries (webhook_id, record_key, id) where status = 'pending';
create index deliveries_ended on deliveries (ended_at) where ended_at is not null;
create index deliveries_event on deliveries (event_id);

-- One body for all deliveries of an event: a copy for each webhook would multiply what a write stores.
create table delivery_bodies (
  event_id text not null,
  body text not null,
  segment smallint not null default 1
) partition by list (segment);
create table delivery_bodies_1 partition of delivery_bodies (primary key (event_id)) for values in (1);
create table delivery_bodies_2 partition of delivery_bodies (primary key (event_id)) for values in (2);
create table delivery_bodies_3 partition of delivery_bodies (primary key (event_id)) for values in (3);

-- The segment that new deliveries are written to, and since when. The others have earlier deliveries.
create table delivery_segment (
  current smallint not null,
  since timestamptz not null
);
insert into delivery_segment values (1, now());

-- The segment to use after the current one: the next empty one; null if none is empty.
create function next_delivery_segment() returns smallint language plpgsql as $$
declare
  present constant smallint := (select current from delivery_segment);
  each smallint;
begin
  foreach each in array array[present % 3 + 1, (present + 1) % 3 + 1] loop
    if not exists (select from deliveries where segment = each) then
      return each;
    end if;
  end loop;
  return null;
end $$;

-- Whether a segment has deliveries, and all of them ended before this time.
create function has_expired(part smallint, cutoff timestamptz) returns boolean language plpgsql as $$
begin
  return not exists (select from deliveries where segment = part and status = 'pending')
    and coalesce((select max(ended_at) from deliveries where segment = part) < cutoff, false);
end $$;

-- Truncates a segment other than the current one whose deliveries all ended before this time, and returns whether there was
-- one. One that another transaction has locked is left to the next call.
create function truncate_expired_deliveries(cutoff timestamptz) returns boolean language plpgsql set lock_timeout = '50ms' as $$
declare
  each smallint;
begin
  -- The look after the lock needs a snapshot of its own.
  if current_setting('transaction_isolation') <> 'read committed' or not pg_try_advisory_xact_lock(1886154356, 4) then
    return false;
  end if;
  foreach each in array array[1, 2, 3] loop
    continue when each = (select current from delivery_segment) or not has_expired(each, cutoff);
    begin
      execute format('lock table deliveries_%1$s, delivery_bodies_%1$s in access exclusive mode', each);
      -- Transactions that had written to it meanwhile have ended.
      if has_expired(each, cutoff) then
        execute format('truncate deliveries_%1$s, delivery_bodies_%1$s', each);
        return true;
      end if;
    exception when lock_not_available then null;
    end;
  end loop;
  return false;
end $$;
