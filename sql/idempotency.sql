-- The lock lasts until the transaction ends. A request that does not get it does not wait: the first request with the
-- key is still in flight.
-- name: lock ($1 caller and key)
select pg_try_advisory_xact_lock(hashtextextended($1, 7)) as locked;

-- name: find ($1 caller, $2 key, $3 retention in seconds)
select fingerprint, status, headers, body, parts
from idempotency_keys
where caller = $1 and key = $2 and created_at > now() - make_interval(secs => $3::double precision);

-- An expired response may still be stored under the key.
-- name: keep ($1 caller, $2 key, $3 fingerprint, $4 status, $5 headers, $6 body, $7 parts)
insert into idempotency_keys (caller, key, fingerprint, status, headers, body, parts)
values ($1, $2, $3, $4, $5, $6, $7)
on conflict (caller, key) do update
set fingerprint = excluded.fingerprint, status = excluded.status, headers = excluded.headers,
  body = excluded.body, parts = excluded.parts, created_at = excluded.created_at;

-- Repeats get what their references still lead to. In JSON without spaces, which `parts` is when it is stored, only a member can
-- have the name with a colon behind its quotation mark.
-- name: forget_bodies ($1 caller and $2 key of the last one that lost its body, $3 how many lose theirs)
with next as materialized (
  select caller, key from idempotency_keys
  where (caller, key) > ($1, $2) and (body is not null or strpos(parts, '"body":') > 0)
  order by caller, key limit $3
), forgotten as (
  update idempotency_keys
  set body = null, parts = case when parts::json -> 'results' is null then parts else json_build_object('results', (
    select json_agg(result::jsonb - 'body' order by place)
    from json_array_elements(parts::json -> 'results') with ordinality as given (result, place)
  ))::text end
  where (caller, key) in (select caller, key from next)
)
select caller, key from next order by caller desc, key desc limit 1;

-- name: prune_keys ($1 retention in seconds)
delete from idempotency_keys
where (caller, key) in (
  select caller, key from idempotency_keys
  where created_at < now() - make_interval(secs => $1::double precision)
  order by created_at limit 1000 for update skip locked
)
returning 1 as pruned;

-- While all stored responses together exceed the limit, the caller that stores most loses its oldest.
-- name: prune_key_bytes ($1 max bytes)
with usage as materialized (
  select caller, sum(bytes) as bytes from idempotency_keys group by caller
), excess as materialized (
  select sum(bytes) - $1::bigint as bytes from usage
), largest as materialized (
  select caller from usage order by bytes desc, caller limit 1
), oldest as materialized (
  select caller, key, sum(stored.bytes) over (order by created_at, key) - stored.bytes as before
  from idempotency_keys as stored
  join largest using (caller)
  where (select bytes from excess) > 0
  order by created_at, key limit 20000
)
delete from idempotency_keys
where (caller, key) in (select caller, key from oldest, excess where before < excess.bytes)
returning 1 as pruned;

-- name: prune_tombstones ($1 retention in seconds)
delete from tombstones
where id in (
  select id from tombstones
  where deleted_at < now() - make_interval(secs => $1::double precision)
  order by deleted_at limit 1000 for update skip locked
)
returning 1 as pruned;
