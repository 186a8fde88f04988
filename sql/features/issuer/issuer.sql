-- name: upsert_record ($1 hash in base64, $2 model, $3 payload, $4 grant hash in base64, $5 session uid, $6 user code hash in base64, $7 user id, $8 client id, $9 seconds to live, $10 version of the password that the request knows)
-- No row: the grant of the record has been revoked, the password of its user was reset since the request began, or the user is
-- disabled. A user without a password signs in elsewhere. The locks have the order of a deletion of the user and of a reset.
insert into issuer_records (hash, model, payload, grant_hash, session_uid, user_code_hash, user_id, client_id, expires_at)
select decode($1, 'base64'), $2, $3, decode($4, 'base64'), $5, decode($6, 'base64'), $7::uuid, $8,
  now() + make_interval(secs => $9::float8)
where case
  when $7::uuid is not null and not exists (select from plinth_users as users where id = $7::uuid for key share) then false
  when $7::uuid is not null
    and (select version from passwords where user_id = $7::uuid for share) is distinct from $10::integer then false
  when $7::uuid is not null
    and exists (select from plinth_disabled_users as disabled where disabled.user_id = $7::uuid) then false
  else $4::text is null or exists (select from issuer_records where hash = decode($4, 'base64') for key share)
end
on conflict (hash) do update set
  payload = excluded.payload,
  grant_hash = excluded.grant_hash,
  session_uid = excluded.session_uid,
  user_code_hash = coalesce(excluded.user_code_hash, issuer_records.user_code_hash),
  user_id = excluded.user_id,
  client_id = excluded.client_id,
  expires_at = excluded.expires_at
returning true;

-- name: has_record ($1 hash in base64)
select from issuer_records where hash = decode($1, 'base64');

-- name: make_room ($1 maximum of records without a user, $2 number of the oldest that are deleted at the maximum)
delete from issuer_records
where hash = any (array(
  select hash from issuer_records
  where user_id is null and model in ('Session', 'Interaction', 'PushedAuthorizationRequest', 'DeviceCode')
    and $1::integer <= (
      select count(*)
      from (
        select from issuer_records
        where user_id is null and model in ('Session', 'Interaction', 'PushedAuthorizationRequest', 'DeviceCode')
        limit $1::integer
      ) as strangers
    )
  order by expires_at limit $2::integer for update skip locked
));

-- name: find_record ($1 hash in base64, $2 seconds for which a consumed record may be consumed again)
select encode(issuer_records.hash, 'base64') as hash, payload, expires_at <= now() as expired,
  case when consumed_at not between clock_timestamp() - make_interval(secs => $2::float8) and clock_timestamp()
    then extract(epoch from consumed_at)::float8 end as consumed, user_id::text as subject, passwords.version
from issuer_records
left join passwords using (user_id)
where issuer_records.hash = decode($1, 'base64');

-- name: find_other ($1 session uid, $2 hash of a user code in base64; null: not by it)
select encode(issuer_records.hash, 'base64') as hash, payload, extract(epoch from consumed_at)::float8 as consumed,
  expires_at <= now() as expired, user_id::text as subject, passwords.version
from issuer_records
left join passwords using (user_id)
where (session_uid = $1 and model = 'Session') or user_code_hash = decode($2, 'base64');

-- name: consume_record ($1 hash in base64, $2 seconds for which a consumed record may be consumed again)
-- No row: the record was consumed before, or revoked. A clock that was set back does not lengthen the period; the statement
-- may have begun before the record was consumed.
update issuer_records set consumed_at = coalesce(consumed_at, now())
where hash = decode($1, 'base64')
  and (
    consumed_at is null
    or consumed_at between clock_timestamp() - make_interval(secs => $2::float8) and clock_timestamp()
  )
returning true;

-- name: delete_record ($1 hash in base64)
delete from issuer_records where hash = decode($1, 'base64');

-- name: delete_of_grant ($1 grant hash in base64, $2 model)
delete from issuer_records where grant_hash = decode($1, 'base64') and model = $2;

-- name: revoke_family ($1 hash in base64 of a record)
-- Deletes the grant of a record with everything that was issued from it.
with family as (select grant_hash from issuer_records where hash = decode($1, 'base64') and grant_hash is not null)
delete from issuer_records
where hash in (select grant_hash from family) or grant_hash in (select grant_hash from family);

-- name: revoke_grant ($1 grant hash in base64)
-- Deletes a grant with everything that was issued from it.
delete from issuer_records where hash = decode($1, 'base64') or grant_hash = decode($1, 'base64');

-- Consumed and expired records of users are retained for an hour, so that their reuse is noticed. Device codes that no user
-- allowed are retained for ten minutes, so that an expired one is reported as expired.
-- name: prune_records
delete from issuer_records
where hash = any (array(
  select hash from issuer_records
  where expires_at < now()
    and (
      (user_id is null and model <> 'DeviceCode')
      or (user_id is null and expires_at < now() - interval '10 minutes')
      or expires_at < now() - interval '1 hour'
    )
  order by expires_at limit 1000 for update skip locked
))
returning true;

-- name: stored_token ($1 hashes in base64, as a JSON array)
select payload, expires_at <= now() as expired
from issuer_records
where hash = any (array(select decode(value, 'base64') from json_array_elements_text($1::text::json)));

-- One row for each grant that still exists and has no disabled user, for each client that still exists, and for each token that
-- was revoked. The scopes are what an operator granted to the user of the grant.
-- name: active_grants ($1 hashes of grants and revoked tokens in base64, as a JSON array, $2 ids of clients, as a JSON array)
select encode(issuer_records.hash, 'base64') as id, user_id is not null as is_of_user,
  array_to_string(user_scopes.scopes, ' ') as scopes, metadata as client, passwords.version
from issuer_records
join issuer_clients on issuer_clients.id = client_id
left join user_scopes using (user_id)
left join passwords using (user_id)
where issuer_records.hash = any (array(select decode(value, 'base64') from json_array_elements_text($1::text::json)))
  and expires_at > now()
  and not exists (select from plinth_disabled_users as disabled where disabled.user_id = issuer_records.user_id)
union all
select id, false, null, metadata, null
from issuer_clients
where id = any (array(select json_array_elements_text($2::text::json)));

-- Of each purpose, the key that signs comes first. A key stays published for two hours after the next one signs, longer than
-- any token is valid.
-- name: signing_keys
select id, purpose, public, private, signs_from <= now() as signs
from (
  select *, lead(signs_from) over (partition by purpose order by signs_from, id) as replaced_at
  from issuer_keys
  where purpose <> 'pages'
) as keys
where replaced_at is null or replaced_at > now() - interval '2 hours'
order by purpose, signs_from <= now() desc, signs_from desc, id desc;

-- name: pages_secret
select id, private from issuer_keys where purpose = 'pages';

-- name: lock_keys
lock table issuer_keys in share row exclusive mode;

-- name: insert_key ($1 id, $2 purpose, $3 public, $4 private, $5 seconds until it signs)
insert into issuer_keys (id, purpose, public, private, signs_from)
values ($1, $2, $3, $4, now() + make_interval(secs => $5::float8));

-- name: encrypt_key ($1 id, $2 private as it was, $3 private encrypted)
update issuer_keys set private = $3 where id = $1 and private = $2;

-- name: delete_old_keys
delete from issuer_keys
where id in (
  select id
  from (
    select id, lead(signs_from) over (partition by purpose order by signs_from, id) as replaced_at
    from issuer_keys
    where purpose <> 'pages'
  ) as keys
  where replaced_at < now() - interval '1 day'
);

-- name: find_client ($1 id)
select metadata from issuer_clients where id = $1;

-- name: create_client ($1 id, $2 metadata)
insert into issuer_clients (id, metadata) values ($1, $2)
returning id, metadata, version, (extract(epoch from created_at) * 1000)::float8 as created;

-- name: list_clients ($1 id after which, $2 limit)
select id, metadata, version, (extract(epoch from created_at) * 1000)::float8 as created
from issuer_clients
where id > $1
order by id
limit $2;

-- name: get_client ($1 id)
select id, metadata, version, (extract(epoch from created_at) * 1000)::float8 as created
from issuer_clients
where id = $1;

-- name: lock_client ($1 id)
select id, metadata, version, (extract(epoch from created_at) * 1000)::float8 as created
from issuer_clients
where id = $1
for update;

-- name: change_client ($1 id, $2 metadata)
update issuer_clients set metadata = $2, version = version + 1
where id = $1
returning id, metadata, version, (extract(epoch from created_at) * 1000)::float8 as created;

-- name: delete_client ($1 id)
delete from issuer_clients where id = $1 returning id;

-- name: account ($1 user id)
select users.id::text, doc, array_to_string(user_scopes.scopes, ' ') as scopes, passwords.version,
  exists (select from plinth_totp as totp where totp.user_id = users.id) as has_totp,
  exists (select from plinth_all_passkeys as own where own.user_id = users.id) as has_passkey
from plinth_users as users
left join user_scopes on user_id = users.id
left join passwords on passwords.user_id = users.id
where users.id = $1::uuid
  and not exists (select from plinth_disabled_users as disabled where disabled.user_id = users.id);

-- name: consent ($1 user id, $2 client id)
select array_to_string(scopes, ' ') as scopes from issuer_consents where user_id = $1::uuid and client_id = $2;

-- name: remember_consent ($1 user id, $2 client id, $3 scopes)
-- Adds scopes to the ones that the user has allowed before.
insert into issuer_consents (user_id, client_id, scopes)
values ($1::uuid, $2, string_to_array($3, ' '))
on conflict (user_id, client_id) do update
set scopes = array(select distinct scope from unnest(issuer_consents.scopes || excluded.scopes) as scope order by scope),
  updated_at = now();

-- name: sessions_of_user ($1 user id)
select session_uid as uid, (payload::json ->> 'loginTs')::float8 as began
from issuer_records
where user_id = $1::uuid and model = 'Session' and expires_at > now()
order by began desc
limit 50;

-- name: log_of_user ($1 user id)
select change, extract(epoch from at)::float8 as at from plinth_account_log where user_id = $1::uuid order by id desc limit 50;

-- name: consents_of_user ($1 user id)
select client_id as id, metadata::json ->> 'client_name' as name, array_to_string(scopes, ' ') as scopes
from issuer_consents
join issuer_clients on issuer_clients.id = client_id
where user_id = $1::uuid
order by updated_at desc
limit 50;

-- name: revoke_client ($1 user id, $2 client id)
with forgotten as (delete from issuer_consents where user_id = $1::uuid and client_id = $2)
delete from issuer_records
where user_id = $1::uuid and client_id = $2 and (model = 'Grant' or grant_hash is not null);

-- name: end_session ($1 user id, $2 session uid)
delete from issuer_records where user_id = $1::uuid and session_uid = $2 and model = 'Session';

-- name: passkeys_of ($1 user id)
select id, public_key, counter::float8 as counter, transports, (extract(epoch from created_at))::float8 as created, is_second
from plinth_all_passkeys
where user_id = $1::uuid
order by created_at desc
limit 40;

-- name: issuers_of_user ($1 user id)
select encode(sha256(convert_to(issuer || chr(10) || subject, 'UTF8')), 'hex') as id, issuer,
  extract(epoch from created_at)::float8 as created
from plinth_user_links
where user_id = $1::uuid
order by created_at desc
limit 50;

-- name: unlink_issuer ($1 user id, $2 id)
-- No row: the user has no such link. The last link stays if nothing else signs the user in. Two requests at once do not remove the last two.
with own as (
  select issuer, subject, encode(sha256(convert_to(issuer || chr(10) || subject, 'UTF8')), 'hex') as id
  from plinth_user_links where user_id = $1::uuid
  for update
), removed as (
  delete from plinth_user_links as link using own
  where link.issuer = own.issuer and link.subject = own.subject and own.id = $2
    and (
      (select count(*) from own) > 1
      or exists (select from passwords where user_id = $1::uuid)
      or exists (select from passkeys where user_id = $1::uuid)
    )
  returning true
)
select not exists (select from removed) as is_last from own where id = $2;

-- name: find_passkey ($1 id, $2 id of the user whose second factor it must be; null: it is the only one)
select id, user_id::text as owner, public_key, counter::float8 as counter, transports, version
from plinth_all_passkeys as all_passkeys
left join passwords using (user_id)
where id = $1 and (user_id = $2::uuid or ($2::uuid is null and not is_second))
  and not exists (select from plinth_disabled_users as disabled where disabled.user_id = all_passkeys.user_id)
order by is_second
limit 1;

-- name: add_passkey ($1 id, $2 user id, $3 public key in base64url, $4 counter, $5 transports as JSON, $6 maximum, $7 version of the password that the request knows)
-- No row: there are too many, or the password was reset since the request began. The locks are those of upsert_record.
insert into passkeys (id, user_id, public_key, counter, transports)
select $1, $2::uuid, $3, $4::bigint, $5
where case
  when not exists (select from plinth_users as users where id = $2::uuid for key share) then false
  when (select version from passwords where user_id = $2::uuid for share) is distinct from $7::integer then false
  else (select count(*) from passkeys where user_id = $2::uuid) < $6::integer
end
on conflict do nothing
returning true;

-- name: use_passkey ($1 id, $2 counter)
-- No row: the passkey was removed, or another use had this counter. Authenticators without a counter send zero.
with second as (
  update plinth_second_passkeys set counter = $2::bigint
  where id = $1 and (counter < $2::bigint or (counter = 0 and $2::bigint = 0))
  returning true
), used as (
  update passkeys set counter = $2::bigint
  where id = $1 and (counter < $2::bigint or (counter = 0 and $2::bigint = 0))
  returning true
)
select true from used union all select true from second;

-- name: remove_passkey ($1 user id, $2 id)
with second as (
  delete from plinth_second_passkeys where user_id = $1::uuid and id = $2 returning true
), removed as (
  delete from passkeys where user_id = $1::uuid and id = $2 returning true
)
select true from removed union all select true from second;

-- name: find_totp ($1 user id)
select secret, (extract(epoch from totp.created_at))::float8 as created, passwords.version,
  (select count(*) from plinth_recovery_codes as codes where codes.user_id = totp.user_id)::int as codes
from plinth_totp as totp
left join passwords using (user_id)
where totp.user_id = $1::uuid;

-- name: add_totp ($1 user id, $2 secret, $3 time step of the first code, $4 version of the password that the request knows)
-- No row: the user has an application, or the password was reset since the request began. The locks are those of upsert_record.
insert into plinth_totp (user_id, secret, last_step)
select $1::uuid, $2, $3::bigint
where case
  when not exists (select from plinth_users as users where id = $1::uuid for key share) then false
  else (select version from passwords where user_id = $1::uuid for share) is not distinct from $4::integer
end
on conflict do nothing
returning true;

-- name: use_totp ($1 user id, $2 time step of the code)
-- No row: a code of this step or of a later one was accepted before.
update plinth_totp set last_step = $2::bigint where user_id = $1::uuid and last_step < $2::bigint returning true;

-- name: remove_totp ($1 user id)
with codes as (delete from plinth_recovery_codes where user_id = $1::uuid)
delete from plinth_totp where user_id = $1::uuid returning true;

-- name: add_recovery_codes ($1 user id, $2 SHA-256s in base64, as a JSON array)
insert into plinth_recovery_codes (user_id, hash)
select $1::uuid, decode(value, 'base64') from json_array_elements_text($2::text::json);

-- name: use_recovery_code ($1 user id, $2 SHA-256 in base64)
with used as (
  delete from plinth_recovery_codes where user_id = $1::uuid and hash = decode($2, 'base64') returning user_id
)
select true from used
cross join lateral plinth_log_change(user_id, 'recovery-code', (select email from plinth_users as users where users.id = user_id));

-- A session ends when it was not used for some time, and at the time in its payload. A use counts once in five minutes.
-- name: use_session ($1 hash in base64, $2 seconds)
update issuer_records
set expires_at = least(to_timestamp((payload::json ->> 'exp')::float8), now() + make_interval(secs => $2::float8))
where hash = decode($1, 'base64') and model = 'Session' and user_id is not null
  and expires_at > now() and expires_at < now() + make_interval(secs => $2::float8) - interval '5 minutes';

-- The user of a session that has not ended, unless the user is disabled. `is_older`: its last use was more than five minutes ago.
-- name: browser_session ($1 hash in base64, $2 seconds without a use after which it ends)
select users.id::text, payload, expires_at < now() + make_interval(secs => $2::float8) - interval '5 minutes' as is_older, extract(epoch from expires_at)::float8 as expires,
  array_to_string(user_scopes.scopes, ' ') as scopes, passwords.version,
  exists (select from plinth_totp as totp where totp.user_id = users.id) as has_totp
from issuer_records
join plinth_users as users on users.id = issuer_records.user_id
left join user_scopes on user_scopes.user_id = users.id
left join passwords on passwords.user_id = users.id
where issuer_records.hash = decode($1, 'base64') and model = 'Session' and expires_at > now()
  and not exists (select from plinth_disabled_users as disabled where disabled.user_id = users.id);
