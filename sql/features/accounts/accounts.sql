-- name: linked_user ($1 issuer, $2 subject)
select user_id::text as owner, claims,
  exists (select from plinth_disabled_users as disabled where disabled.user_id = plinth_user_links.user_id) as is_disabled
from plinth_user_links
where issuer = $1 and subject = $2;

-- name: link_user ($1 issuer, $2 subject, $3 user id, $4 SHA-256 of the values)
insert into plinth_user_links (issuer, subject, user_id, claims)
values ($1, $2, $3, $4)
on conflict (issuer, subject) do nothing
returning true;

-- name: link_values ($1 issuer, $2 subject, $3 SHA-256 of the values)
update plinth_user_links set claims = $3 where issuer = $1 and subject = $2;

-- name: link_signed_in ($1 issuer, $2 subject, $3 user id, $4 SHA-256 of the values, $5 email)
-- No row: the user has another address by now.
insert into plinth_user_links (issuer, subject, user_id, claims)
select $1, $2, users.id, $4 from plinth_users as users where users.id = $3::uuid and email = $5
on conflict (issuer, subject) do nothing;

-- A user with an address, and whether a password, a passkey or a subject of another issuer can enter its account, or it is disabled.
-- name: user_with_email ($1 email)
select users.id::text,
  exists (select from plinth_disabled_users as disabled where disabled.user_id = users.id)
    or exists (select from passwords where user_id = users.id)
    or exists (select from passkeys where user_id = users.id)
    or exists (select from plinth_user_links where user_id = users.id) as is_enterable
from plinth_users as users
where email = $1
for update;

-- One transaction at a time counts and uses the codes of an address.
-- name: lock_recipient ($1 recipient)
select from pg_advisory_xact_lock(x'6d61696c'::integer, hashtext($1));

-- A message with a code, whether or not the address is known: the statement reads no users. An address gets three messages of a
-- purpose in the time that a code is valid. A row: beyond these, with the seconds until the next one.
-- name: request_code ($1 id, $2 purpose, $3 recipient, $4 language, $5 about, $6 most seconds, $7 address to return to)
with counted as (
  select count(distinct message) as messages, min(expires_at) as ends_at
  from (
    select mail_id as message, expires_at
    from plinth_mail_codes where recipient = $3 and purpose = $2 and is_counted and expires_at > now()
    union all
    select id, null from plinth_mail where recipient = $3 and purpose = $2
  ) as requests
), requested as (
  insert into plinth_mail (id, purpose, recipient, language, about, return_to)
  select $1::uuid, $2, $3, $4, $5::uuid, $7 from counted where messages < 3
  returning true
)
select coalesce(extract(epoch from ends_at - now()), $6)::float8 as wait
from counted where not exists (select from requested);

-- Whether an origin has a redirect URI of a client.
-- name: is_origin_of_client ($1 origin)
select from issuer_clients
cross join lateral json_array_elements_text(metadata::json -> 'redirect_uris') as uri
where starts_with(uri || '/', $1 || '/')
limit 1;

-- The limit of messages and codes that people without an account can store: beyond the newest of a purpose, messages and the codes of
-- unknown addresses end. A code of a user stays valid, and counts no more than the ones that end, which would show that the address is known.
-- name: displace_codes ($1 most of each purpose)
with purposes as (
  values ('reset'), ('sign-up')
), mail as (
  delete from plinth_mail where id = any (array(
    select id from purposes cross join lateral (
      select id from plinth_mail where purpose = column1 order by created_at desc offset $1::integer
    ) as oldest
  ))
), oldest as (
  select hash, user_id from plinth_mail_codes
  where hash = any (array(
    select hash from purposes cross join lateral (
      select hash from plinth_mail_codes where purpose = column1 and is_counted order by expires_at desc offset $1::integer
    ) as oldest
  ))
  for update skip locked
), ended as (
  delete from plinth_mail_codes using oldest where plinth_mail_codes.hash = oldest.hash and oldest.user_id is null
)
update plinth_mail_codes set is_counted = false
from oldest where plinth_mail_codes.hash = oldest.hash and oldest.user_id is not null;

-- `can_reset`: the user is not disabled, and a password signs the user in, or could: no other issuer alone does.
-- name: user_at ($1 email)
select users.id::text as owner, is_disabled,
  not is_disabled and (
    exists (select from passwords where user_id = users.id)
    or not exists (select from plinth_user_links where user_id = users.id)
  ) as can_reset
from plinth_users as users
cross join lateral (
  select exists (select from plinth_disabled_users as disabled where disabled.user_id = users.id) as is_disabled
) as state
where email = $1;

-- Notes of the changes in the logs of accounts. A service that begins to send messages sends none of old changes.
-- name: write_notes
with due as (
  select id, recipient, language, at,
    case change when 'password' then 'changed' when 'address' then 'moved' else 'factors' end as purpose
  from plinth_account_log where recipient is not null
  order by id limit 1000 for update skip locked
), written as (
  update plinth_account_log as log set recipient = null from due where log.id = due.id
)
insert into plinth_mail (id, purpose, recipient, language)
select distinct on (recipient, purpose) gen_random_uuid(), purpose, recipient, language
from due where at > now() - interval '1 day';

-- name: note_language ($1 user id, $2 language)
update plinth_account_log set language = $2 where user_id = $1::uuid and recipient is not null;

-- A person who resets the password of an account ends the former ways into it.
-- name: unlink_user ($1 user id)
delete from plinth_user_links where user_id = $1::uuid returning true;

-- Another request replaces the former one.
-- name: request_address ($1 id, $2 user id, $3 email)
insert into plinth_address_changes (id, user_id, email)
values ($1::uuid, $2::uuid, $3)
on conflict (user_id) do update set id = excluded.id, email = excluded.email, confirmed = '{}'
returning true;

-- name: requested_address ($1 hash of a code in base64)
select change.email
from plinth_mail_codes as code
join plinth_address_changes as change on change.id = code.about
where code.hash = decode($1, 'base64') and code.purpose = 'address' and code.expires_at > now();

-- name: confirm_address ($1 id, $2 recipient of a code)
update plinth_address_changes as change set confirmed = array_append(confirmed, $2)
from plinth_users as users
where change.id = $1::uuid and users.id = change.user_id
  and not exists (select from plinth_disabled_users as disabled where disabled.user_id = users.id)
returning users.id::text as owner, users.email as former, change.email, confirmed @> array[users.email, change.email] as is_confirmed;

-- name: end_address_change ($1 id)
delete from plinth_address_changes where id = $1::uuid;

-- A note to the former address, and the end of invitations to it: triggers of users do that, which Citus does not have.
-- name: left_address ($1 user id, $2 former address)
with ended as (
  update plinth_invitations set outcome = 'withdrawn' where email = $2 and outcome is null
)
select plinth_log_change($1::uuid, 'address', $2)
where not exists (select from pg_trigger where tgname = 'plinth_log_addresses');

-- The next messages, which no other process sends until `next_at`: after a failure, or the end of this process, they are sent again.
-- name: claim_mail ($1 seconds before the second attempt, $2 most messages)
update plinth_mail
set attempts = attempts + 1, next_at = now() + make_interval(secs => $1::float8 * power(2, least(attempts, 7)))
where id = any (array(
  select id from plinth_mail where next_at <= now() order by next_at limit $2 for update skip locked
))
returning id::text, purpose, recipient, language, about::text, return_to;

-- `failed`: after a failure. A message in flight is not older than a minute.
-- name: mail_state
select count(*)::integer as waiting,
  count(*) filter (where attempts > 0 and created_at < now() - interval '1 minute')::integer as failed
from plinth_mail;

-- name: end_mail ($1 id)
delete from plinth_mail where id = $1::uuid;

-- Another attempt to send the message has another code, which replaces the former one.
-- name: create_code ($1 hash in base64, $2 id of the message, $3 user id, $4 seconds)
insert into plinth_mail_codes (hash, mail_id, purpose, recipient, user_id, about, expires_at)
select decode($1, 'base64'), id, purpose, recipient, $3::uuid, about, now() + make_interval(secs => $4::float8)
from plinth_mail where id = $2::uuid
on conflict (mail_id) do update
set hash = excluded.hash, user_id = excluded.user_id, expires_at = excluded.expires_at
returning true;

-- The code of a user is valid while the user has the address to which it was sent, and is not disabled.
-- name: find_code ($1 hash in base64, $2 purpose)
select recipient, user_id::text as owner, about::text
from plinth_mail_codes
where hash = decode($1, 'base64') and purpose = $2 and expires_at > now()
  and (user_id is null
    or exists (select from plinth_users as users where users.id = user_id and users.email = recipient)
      and not exists (select from plinth_disabled_users as disabled where disabled.user_id = plinth_mail_codes.user_id));

-- name: end_code ($1 hash in base64)
delete from plinth_mail_codes where hash = decode($1, 'base64') returning true;

-- name: prune_mail
delete from plinth_mail
where id = any (array(
  select id from plinth_mail where created_at < now() - interval '1 day' limit 1000 for update skip locked
))
returning true;

-- name: prune_codes
delete from plinth_mail_codes
where hash = any (array(
  select hash from plinth_mail_codes where expires_at < now() limit 1000 for update skip locked
))
returning true;
