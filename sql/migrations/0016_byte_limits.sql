-- What a stored response refers to instead of repeating it, and its bytes, which are limited in sum.
alter table idempotency_keys add column parts text;
alter table idempotency_keys add column bytes integer not null generated always as (
  128 + octet_length(caller) + octet_length(key) + octet_length(headers)
    + coalesce(octet_length(body), 0) + coalesce(octet_length(parts), 0)
) stored;

-- Bytes of the events up to `until` and after the previous row, measured once by whoever prunes: no writer maintains it.
create table event_bytes (
  until bigint primary key,
  bytes bigint not null
);

-- Events that were deleted before they became deliveries, because they came to twice the limit.
alter table webhooks add column dropped_events bigint not null default 0;
