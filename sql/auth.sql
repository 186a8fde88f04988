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

-- name: passwords_of ($1 emails, as a JSON array)
select email, user_id, hash
from users
join passwords on user_id = users.id
where email = any (array(select json_array_elements_text($1::text::json)));

-- name: rehash ($1 user id, $2 hash that was verified, $3 new hash)
update passwords set hash = $3 where user_id = $1 and hash = $2;
