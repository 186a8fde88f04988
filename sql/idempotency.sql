-- The lock lasts until the transaction ends, and who does not get it does not wait: the first request with
-- the key is still in flight.
-- name: lock ($1 caller and key)
select pg_try_advisory_xact_lock(hashtextextended($1, 7)) as locked;

-- name: find ($1 caller, $2 key, $3 seconds to keep)
select fingerprint, status, headers, body
from idempotency_keys
where caller = $1 and key = $2 and created_at > now() - make_interval(secs => $3::double precision);

-- An answer past its time may still stand there.
-- name: keep ($1 caller, $2 key, $3 fingerprint, $4 status, $5 headers, $6 body)
insert into idempotency_keys (caller, key, fingerprint, status, headers, body)
values ($1, $2, $3, $4, $5, $6)
on conflict (caller, key) do update
set fingerprint = excluded.fingerprint, status = excluded.status, headers = excluded.headers,
  body = excluded.body, created_at = excluded.created_at;

-- name: prune_keys ($1 seconds to keep)
delete from idempotency_keys
where (caller, key) in (
  select caller, key from idempotency_keys
  where created_at < now() - make_interval(secs => $1::double precision)
  order by created_at limit 1000 for update skip locked
)
returning 1 as pruned;

-- name: prune_tombstones ($1 seconds to keep)
delete from tombstones
where id in (
  select id from tombstones
  where deleted_at < now() - make_interval(secs => $1::double precision)
  order by deleted_at limit 1000 for update skip locked
)
returning 1 as pruned;
