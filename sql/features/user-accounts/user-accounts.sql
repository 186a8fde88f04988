-- `:which` is about an id, $1.
-- name: accounts ($2 limit)
select users.id::text, email, array_to_string(user_scopes.scopes, ' ') as scopes,
  (extract(epoch from disabled_at) * 1000)::float8 as disabled,
  exists (select from passwords where passwords.user_id = users.id) as has_password,
  (select count(*) from passkeys where passkeys.user_id = users.id)::int as passkeys,
  exists (select from plinth_totp as totp where totp.user_id = users.id)
    or exists (select from plinth_all_passkeys as own where own.user_id = users.id) as second_factor,
  (select count(*) from issuer_records
   where issuer_records.user_id = users.id and model = 'Session' and expires_at > now())::int as sessions
from plinth_users as users
left join user_scopes on user_scopes.user_id = users.id
left join plinth_disabled_users on plinth_disabled_users.user_id = users.id
where :which
order by users.id desc
limit $2;

-- One change of an account at a time.
-- name: lock_account ($1 user id)
select from plinth_users as users where users.id = $1::uuid for no key update;

-- name: disable_user ($1 user id)
insert into plinth_disabled_users (user_id) values ($1::uuid) on conflict do nothing;

-- Ends also what applications have obtained for a user. Those who begin again sign in.
-- name: end_sessions ($1 user id)
delete from issuer_records
where user_id = $1::uuid and (model in ('Session', 'Interaction', 'Grant') or grant_hash is not null);

-- name: enable_user ($1 user id)
delete from plinth_disabled_users where user_id = $1::uuid;

-- Removes all that proves a user besides the password.
-- name: remove_second_factors ($1 user id)
with totp as (delete from plinth_totp where user_id = $1::uuid),
  codes as (delete from plinth_recovery_codes where user_id = $1::uuid),
  second as (delete from plinth_second_passkeys where user_id = $1::uuid)
delete from passkeys where user_id = $1::uuid;
