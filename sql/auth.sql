-- name: take ($1 hash in base64, $2 seconds since 1970 until which it counts)
insert into taken (hash, until)
values (decode($1, 'base64'), to_timestamp($2))
on conflict (hash) do nothing
returning true as fresh;

-- name: prune_taken
delete from taken
where hash = any (array(
  select hash from taken
  where until < now() - interval '1 minute'
  order by until limit 1000 for update skip locked
))
returning true;

-- Processes' clocks may be apart: what ended a minute ago has ended for all.
-- name: prune_limits
delete from limits
where key = any (array(
  select key from limits
  where expire < extract(epoch from now() - interval '1 minute') * 1000
  order by expire limit 1000 for update skip locked
))
returning true;
