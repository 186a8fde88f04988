-- The scopes of a user beyond `self`, with which it invites. A disabled user does not invite.
-- name: inviter ($1 user id)
select array_to_string(user_scopes.scopes, ' ') as scopes
from plinth_users as users
left join user_scopes on user_scopes.user_id = users.id
where users.id = $1::uuid
  and not exists (select from plinth_disabled_users as disabled where disabled.user_id = users.id);

-- The invitations of one user are counted one after the other.
-- name: lock_inviter ($1 user id)
select from plinth_users as users where users.id = $1::uuid for no key update;

-- An invitation with its message, unless the user has made too many in the time that one is open.
-- name: invite ($1 id, $2 email, $3 user id, $4 records as JSON, $5 collections, $6 targets, $7 seconds, $8 id of the message, $9 language, $10 most of a user, $11 most to one address, $12 title, $13 address to return to)
with recent as (
  select email from plinth_invitations
  where inviter_id = $3::uuid and created_at > now() - make_interval(secs => $7::float8)
  limit $10
), invitation as (
  insert into plinth_invitations (id, email, inviter_id, records, collections, targets, title, expires_at)
  select $1::uuid, $2, $3::uuid, $4, $5::text::text[], $6::text::text[], $12, now() + make_interval(secs => $7::float8)
  where (select count(*) from recent) < $10
    and (select count(*) from recent where email = $2) < $11
  returning id, email, inviter_id
)
insert into plinth_mail (id, purpose, recipient, language, user_id, about, return_to)
select $8::uuid, 'invitation', email, $9, inviter_id, id, $13 from invitation
returning true;

-- `:which` is about an id, $1.
-- name: invitations ($2 inviter; null: any, $3 limit)
select id::text, email, inviter_id::text as inviter, records,
  coalesce(outcome, case when expires_at < now() then 'expired' else 'open' end) as status,
  (extract(epoch from created_at) * 1000)::float8 as created_at, (extract(epoch from expires_at) * 1000)::float8 as expires_at
from plinth_invitations
where :which and ($2::uuid is null or inviter_id = $2::uuid)
order by id desc
limit $3;

-- name: withdraw ($1 id)
with withdrawn as (
  update plinth_invitations set outcome = 'withdrawn' where id = $1::uuid and outcome is null returning id
)
delete from plinth_mail using withdrawn where about = withdrawn.id;

-- An open invitation, with its address, the user who has it, what it creates, and as people read them the inviter and the records.
-- name: find_invitation ($1 id)
select plinth_invitations.email, users.id::text as owner, inviter_id::text, records, targets::text,
  coalesce(inviters.doc::json ->> 'name' || ' (' || inviters.email || ')', inviters.email) as inviter,
  coalesce(title, array_to_string(collections, ', ')) as title
from plinth_invitations
join plinth_users as inviters on inviters.id = inviter_id
left join plinth_users as users on users.email = plinth_invitations.email
where plinth_invitations.id = $1::uuid and outcome is null and expires_at > now();

-- name: is_invited ($1 email)
select from plinth_invitations where email = $1 and outcome is null and expires_at > now() limit 1;

-- Ends an open invitation, and with $2 only if the user has its address. Others that wait for the row find it ended.
-- name: accept ($1 id, $2 user id; null: the address has none)
update plinth_invitations set outcome = 'accepted'
where id = $1::uuid and outcome is null and expires_at > now()
  and ($2::uuid is null or exists (
    select from plinth_users as users where users.id = $2::uuid and users.email = plinth_invitations.email
  ))
returning true;

-- Others to the address that lead to the same place: a person who is removed later cannot return by one of these.
-- name: end_others ($1 email, $2 targets)
update plinth_invitations set outcome = 'accepted'
where email = $1 and targets && $2::text::text[] and outcome is null;

-- name: prune_invitations
delete from plinth_invitations
where id = any (array(
  select id from plinth_invitations where expires_at < now() - interval '7 days' limit 1000 for update skip locked
))
returning true;
