-- name: take ($1 a JSON array of {hash in base64, until in seconds since 1970})
-- The database's clock decides here and in prune_taken, so a pruned entry is always expired, whatever the clocks of the
-- processes say. The minute in prune_taken is longer than any statement may run.
with entries as materialized (
  select decode(hash, 'base64') as hash, to_timestamp(until) as until
  from json_to_recordset($1::text::json) as entries (hash text, until float8)
), inserted as (
  insert into taken (hash, until)
  select hash, until from entries where until > now()
  order by 1
  on conflict (hash) do nothing
  returning hash
)
select encode(hash, 'base64') as hash, 'first' as use from inserted
union all
select encode(hash, 'base64'), 'expired' from entries where until <= now();

-- name: prune_taken
delete from taken
where hash = any (array(
  select hash from taken
  where until < now() - interval '1 minute'
  order by until limit 1000 for update skip locked
))
returning true;

-- Processes of the previous version, whose clocks decide, may differ by up to a minute.
-- name: prune_limits
delete from limits
where key = any (array(
  select key from limits
  where expire < extract(epoch from now() - interval '1 minute') * 1000
  order by expire limit 1000 for update skip locked
))
returning true;

-- Without the users who are disabled.
-- name: passwords_of ($1 emails, as a JSON array)
select email, user_id, hash, passwords.version,
  exists (select from plinth_totp as totp where totp.user_id = users.id) as has_totp
from plinth_users as users
join passwords on user_id = users.id
where email = any (array(select json_array_elements_text($1::text::json)))
  and not exists (select from plinth_disabled_users as disabled where disabled.user_id = users.id);

-- name: password_of ($1 user id)
select email, hash, passwords.version, array_to_string(user_scopes.scopes, ' ') as scopes
from plinth_users as users
left join passwords on passwords.user_id = users.id
left join user_scopes on user_scopes.user_id = users.id
where users.id = $1;

-- name: rehash ($1 user id, $2 hash that was verified, $3 new hash)
update passwords set hash = $3 where user_id = $1 and hash = $2;

-- name: find_credentials ($1 hashes in base64, as a JSON array)
-- Records the use of valid credentials, at most once a minute, unless another service just does.
with given as materialized (
  select decode(value, 'base64') as hash from json_array_elements_text($1::text::json)
), used as (
  update credentials set last_used_at = now()
  where hash in (
    select hash from credentials
    where hash in (select hash from given)
      and (expires_at is null or expires_at > now())
      and (last_used_at is null or last_used_at < now() - interval '1 minute')
    for update skip locked
  )
)
select encode(hash, 'base64') as hash, kind, subject, array_to_string(scopes, ' ') as scopes,
  (extract(epoch from expires_at) * 1000)::float8 as expires
from credentials
where hash in (select hash from given)
  and not exists (select from plinth_disabled_users where user_id::text = lower(subject));

-- One row for each key, certificate and user that still exists, and that no disabled user has or is.
-- name: current_credentials ($1 SHA-256s in base64, as a JSON array, $2 ids of users, as a JSON array)
select encode(hash, 'base64') as id, subject, array_to_string(scopes, ' ') as scopes,
  (extract(epoch from expires_at) * 1000)::float8 as expires, null as credential
from credentials
where hash = any (array(select decode(value, 'base64') from json_array_elements_text($1::text::json)))
  and not exists (select from plinth_disabled_users where user_id::text = lower(subject))
union all
select users.id::text, null, null, null,
  encode(sha256(convert_to(email || chr(10) || passwords.hash, 'UTF8')), 'base64')
from plinth_users as users
left join passwords on user_id = users.id
where users.id = any (array(select value::uuid from json_array_elements_text($2::text::json)))
  and not exists (select from plinth_disabled_users as disabled where disabled.user_id = users.id);

-- A further part of current_credentials: the records of another collection whose records are callers.
-- name: current_callers (:table the collection, $2 ids of records, as a JSON array)
select id::text, null, null, null, null
from :table
where id = any (array(select value::uuid from json_array_elements_text($2::text::json)));

-- name: user_of_email ($1 email)
select id::text from plinth_users as users where email = $1;

-- name: set_user_scopes ($1 user id, $2 scopes)
insert into user_scopes (user_id, scopes)
values ($1::uuid, string_to_array($2, ' '))
on conflict (user_id) do update set scopes = excluded.scopes;

-- name: scopes_of_user ($1 user id)
select array_to_string(scopes, ' ') as scopes from user_scopes where user_id = $1::uuid;
