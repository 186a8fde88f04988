-- The segment that new deliveries are written to, and since when. The others have earlier deliveries.
create table delivery_segment (
  current smallint not null,
  since timestamptz not null
);
insert into delivery_segment values (1, now());

lock table deliveries in access exclusive mode;
lock table delivery_bodies in access exclusive mode;
alter table deliveries rename to deliveries_1;
alter index deliveries_pkey rename to deliveries_1_pkey;
alter index deliveries_webhook rename to deliveries_1_webhook;
alter index deliveries_dead rename to deliveries_1_dead;
alter index deliveries_due rename to deliveries_1_due;
alter index deliveries_leased rename to deliveries_1_leased;
alter index deliveries_record rename to deliveries_1_record;
alter index deliveries_ended rename to deliveries_1_ended;
alter index deliveries_event rename to deliveries_1_event;

do $$
declare
  drawn record;
begin
  select last_value, is_called into drawn from deliveries_id_seq;
  alter table deliveries_1 alter id drop identity;
  create table deliveries (
    like deliveries_1 including defaults including comments,
    constraint deliveries_status_check check (status in ('pending', 'delivered', 'dead'))
  ) partition by list (segment);
  alter table deliveries alter id add generated always as identity;
  perform setval('deliveries_id_seq', drawn.last_value, drawn.is_called);
end $$;

create index deliveries_webhook on deliveries (webhook_id, id);
create index deliveries_dead on deliveries (webhook_id, id) where status = 'dead';
create index deliveries_due on deliveries (webhook_id, next_at, id) where status = 'pending' and next_at is not null;
create index deliveries_leased on deliveries (webhook_id) where owner is not null;
create index deliveries_record on deliveries (webhook_id, record_key, id) where status = 'pending';
create index deliveries_ended on deliveries (ended_at) where ended_at is not null;
create index deliveries_event on deliveries (event_id);
alter table deliveries attach partition deliveries_1 for values in (1);
alter table deliveries_1 drop constraint is_first_segment;
create table deliveries_2 partition of deliveries (primary key (id)) for values in (2);
create table deliveries_3 partition of deliveries (primary key (id)) for values in (3);

-- The bodies of a segment's deliveries.
alter table delivery_bodies rename to delivery_bodies_1;
alter index delivery_bodies_pkey rename to delivery_bodies_1_pkey;
create table delivery_bodies (
  like delivery_bodies_1 including defaults
) partition by list (segment);
alter table delivery_bodies attach partition delivery_bodies_1 for values in (1);
alter table delivery_bodies_1 drop constraint is_first_segment;
create table delivery_bodies_2 partition of delivery_bodies (primary key (event_id)) for values in (2);
create table delivery_bodies_3 partition of delivery_bodies (primary key (event_id)) for values in (3);

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
