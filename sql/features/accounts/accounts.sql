-- name: linked_users ($1 issuers and subjects, as a JSON array of arrays)
select issuer, subject, user_id::text as owner, claims,
  exists (select from plinth_disabled_users as disabled where disabled.user_id = plinth_user_links.user_id) as is_disabled
from plinth_user_links
where (issuer, subject) in (
  select value ->> 0, value ->> 1 from json_array_elements($1::text::json)
);

-- name: link_user ($1 issuer, $2 subject, $3 user id, $4 SHA-256 of the values)
insert into plinth_user_links (issuer, subject, user_id, claims)
values ($1, $2, $3, $4)
on conflict (issuer, subject) do nothing
returning true;

-- name: link_values ($1 issuer, $2 subject, $3 SHA-256 of the values)
update plinth_user_links set claims = $3 where issuer = $1 and subject = $2;

-- A user whose account no password and no subject of another issuer can enter.
-- name: unlinked_user ($1 email)
select users.id::text
from plinth_users as users
where email = $1
  and not exists (select from plinth_disabled_users as disabled where disabled.user_id = users.id)
  and not exists (select from passwords where user_id = users.id)
  and not exists (select from passkeys where user_id = users.id)
  and not exists (select from plinth_user_links where user_id = users.id)
for update;

-- A message about a new password to the user with an address, unless another issuer signs the user in or the user is disabled. One
-- statement for known and unknown addresses. An address gets three messages in the time that a code is valid, and the table has a limit.
-- name: request_reset ($1 id, $2 email, $3 language, $4 most messages)
insert into plinth_mail (id, purpose, recipient, language, user_id)
select $1::uuid, 'reset', users.email, $3, users.id
from plinth_users as users
where users.email = $2
  and not exists (select from plinth_disabled_users as disabled where disabled.user_id = users.id)
  and not exists (select from plinth_user_links where user_id = users.id)
  and (select count(*) from (select from plinth_mail limit $4) as waiting) < $4
  and (select count(*) from plinth_mail where recipient = users.email)
    + (select count(*) from plinth_mail_codes where recipient = users.email and expires_at > now()) < 3
returning true;

-- name: tell_changed ($1 id, $2 user id, $3 language)
insert into plinth_mail (id, purpose, recipient, language, user_id)
select $1::uuid, 'changed', email, $3, users.id from plinth_users as users where users.id = $2::uuid;

-- The next messages, which no other process sends until `next_at`: after a failure, or the end of this process, they are sent again.
-- name: claim_mail ($1 seconds before the second attempt, $2 most messages)
update plinth_mail
set attempts = attempts + 1, next_at = now() + make_interval(secs => $1::float8 * power(2, least(attempts, 7)))
where id = any (array(
  select id from plinth_mail where next_at <= now() order by next_at limit $2 for update skip locked
))
returning id::text, purpose, recipient, language, user_id::text as owner;

-- name: end_mail ($1 id)
delete from plinth_mail where id = $1::uuid;

-- name: create_code ($1 hash in base64, $2 purpose, $3 recipient, $4 user id, $5 seconds)
insert into plinth_mail_codes (hash, purpose, recipient, user_id, expires_at)
values (decode($1, 'base64'), $2, $3, $4::uuid, now() + make_interval(secs => $5::float8));

-- A code is valid while its user has the address to which it was sent.
-- name: find_code ($1 hash in base64, $2 purpose)
select recipient, user_id::text as owner
from plinth_mail_codes
join plinth_users as users on users.id = user_id and users.email = recipient
where hash = decode($1, 'base64') and purpose = $2 and expires_at > now();

-- Once a code is used, the others of its user are worth nothing.
-- name: use_code ($1 hash in base64, $2 purpose)
with used as (
  delete from plinth_mail_codes using plinth_users as users
  where hash = decode($1, 'base64') and purpose = $2 and expires_at > now()
    and users.id = user_id and users.email = recipient
  returning recipient, user_id
), others as (
  delete from plinth_mail_codes using used
  where plinth_mail_codes.user_id = used.user_id and plinth_mail_codes.purpose = $2
)
select recipient, user_id::text as owner from used;

-- name: end_code ($1 hash in base64)
delete from plinth_mail_codes where hash = decode($1, 'base64');

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
