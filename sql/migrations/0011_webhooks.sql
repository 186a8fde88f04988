-- Who is told of events, and by what secret the telling is signed. An HMAC needs the secret itself, so it is
-- stored as it is: whoever reads this table can sign.
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
  -- Its last try failed: one try at a time until one succeeds.
  failing boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

-- The place in the feed up to which deliveries have been made; its row is the lock of who makes them.
create table webhook_cursor (
  single boolean primary key default true check (single),
  position text
);
insert into webhook_cursor default values;

-- One event on its way to one webhook. The body is a copy, since a delivery may outlive its event. There is no
-- foreign key: deleting a webhook must not wait for a million deliveries, which are pruned in the background.
create table deliveries (
  -- Those of one record and webhook are sent in this order.
  id bigint generated always as identity primary key,
  webhook_id uuid not null,
  event_id text not null,
  type text not null,
  record_key text not null,
  body text not null,
  status text not null default 'pending' check (status in ('pending', 'delivered', 'dead')),
  tries integer not null default 0,
  -- When it may be tried, or while it has an owner, when that one's lease ends; null: an earlier delivery of the
  -- record is pending, and its end will set this.
  next_at timestamptz,
  -- Which try of which process has the lease.
  owner uuid,
  -- When it became due at first; the time for retries counts from here.
  due_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  tried_at timestamptz,
  ended_at timestamptz,
  last_status integer,
  last_error text,
  last_body text
);
create index deliveries_webhook on deliveries (webhook_id, id);
create index deliveries_dead on deliveries (webhook_id, id) where status = 'dead';
create index deliveries_due on deliveries (webhook_id, next_at, id) where status = 'pending' and next_at is not null;
create index deliveries_leased on deliveries (webhook_id) where owner is not null;
create index deliveries_record on deliveries (webhook_id, record_key, id) where status = 'pending';
create index deliveries_ended on deliveries (ended_at) where ended_at is not null;
