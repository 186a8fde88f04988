-- name: upsert_record ($1 hash in base64, $2 model, $3 payload, $4 grant hash in base64, $5 session uid, $6 user code hash in base64, $7 user id, $8 client id, $9 seconds to live)
-- No row: the grant of the record has been revoked.
insert into issuer_records (hash, model, payload, grant_hash, session_uid, user_code_hash, user_id, client_id, expires_at)
select decode($1, 'base64'), $2, $3, decode($4, 'base64'), $5, decode($6, 'base64'), $7::uuid, $8,
  now() + make_interval(secs => $9::float8)
where $4::text is null
  or exists (select from issuer_records where hash = decode($4, 'base64') for key share)
on conflict (hash) do update set
  payload = excluded.payload,
  grant_hash = excluded.grant_hash,
  session_uid = excluded.session_uid,
  user_code_hash = coalesce(excluded.user_code_hash, issuer_records.user_code_hash),
  user_id = excluded.user_id,
  client_id = excluded.client_id,
  expires_at = excluded.expires_at
returning true;

-- name: find_record ($1 hash in base64)
select encode(hash, 'base64') as hash, payload, extract(epoch from consumed_at)::float8 as consumed, expires_at <= now() as expired
from issuer_records
where hash = decode($1, 'base64');

-- name: find_session ($1 session uid)
select encode(hash, 'base64') as hash, payload, extract(epoch from consumed_at)::float8 as consumed, expires_at <= now() as expired
from issuer_records
where session_uid = $1 and model = 'Session';

-- name: find_user_code ($1 hash in base64)
select encode(hash, 'base64') as hash, payload, extract(epoch from consumed_at)::float8 as consumed, expires_at <= now() as expired
from issuer_records
where user_code_hash = decode($1, 'base64');

-- name: consume_record ($1 hash in base64)
-- No row: the record was consumed before, or revoked.
update issuer_records set consumed_at = now()
where hash = decode($1, 'base64') and consumed_at is null
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

-- name: revoke_user_grants ($1 user id)
delete from issuer_records where user_id = $1::uuid and (model = 'Grant' or grant_hash is not null);

-- Consumed and expired records are retained for an hour, so that an expired device code is reported as expired.
-- name: prune_records
delete from issuer_records
where hash = any (array(
  select hash from issuer_records
  where expires_at < now() - interval '1 hour'
  order by expires_at limit 1000 for update skip locked
))
returning true;

-- name: active_token ($1 hashes in base64, as a JSON array)
select payload
from issuer_records as token
where hash = any (array(select decode(value, 'base64') from json_array_elements_text($1::text::json)))
  and expires_at > now()
  and (
    grant_hash is null
    or exists (select from issuer_records as parent where parent.hash = token.grant_hash and parent.expires_at > now())
  );

-- One row for each grant and client that still exists.
-- name: active_grants ($1 hashes of grants in base64, as a JSON array, $2 ids of clients, as a JSON array)
select encode(hash, 'base64') as id
from issuer_records
where hash = any (array(select decode(value, 'base64') from json_array_elements_text($1::text::json)))
  and expires_at > now()
union all
select id
from issuer_clients
where id = any (array(select json_array_elements_text($2::text::json)));

-- The key that signs comes first. A key stays published for two hours after the next one signs, longer than any token is
-- valid.
-- name: signing_keys
select id, public, private, signs_from <= now() as signs
from (
  select *, lead(signs_from) over (order by signs_from, id) as replaced_at
  from issuer_keys
  where purpose = 'sign'
) as keys
where replaced_at is null or replaced_at > now() - interval '2 hours'
order by signs_from <= now() desc, signs_from desc, id desc;

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
    select id, lead(signs_from) over (order by signs_from, id) as replaced_at
    from issuer_keys
    where purpose = 'sign'
  ) as keys
  where replaced_at < now() - interval '1 day'
);

-- name: find_client ($1 id)
select metadata from issuer_clients where id = $1;

-- name: create_client ($1 id, $2 metadata)
insert into issuer_clients (id, metadata) values ($1, $2)
returning (extract(epoch from created_at) * 1000)::float8 as created;

-- name: list_clients ($1 id after which, $2 limit)
select id, metadata, (extract(epoch from created_at) * 1000)::float8 as created
from issuer_clients
where id > $1
order by id
limit $2;

-- name: get_client ($1 id)
select id, metadata, (extract(epoch from created_at) * 1000)::float8 as created
from issuer_clients
where id = $1;

-- name: delete_client ($1 id)
delete from issuer_clients where id = $1 returning id;

-- name: account ($1 user id)
select users.id::text, doc, array_to_string(user_scopes.scopes, ' ') as scopes
from users
left join user_scopes on user_id = users.id
where users.id = $1::uuid;

-- name: consent ($1 user id, $2 client id)
select array_to_string(scopes, ' ') as scopes from issuer_consents where user_id = $1::uuid and client_id = $2;

-- name: remember_consent ($1 user id, $2 client id, $3 scopes)
insert into issuer_consents (user_id, client_id, scopes)
values ($1::uuid, $2, string_to_array($3, ' '))
on conflict (user_id, client_id) do update set scopes = excluded.scopes, updated_at = now();

-- name: set_user_scopes ($1 user id, $2 scopes)
insert into user_scopes (user_id, scopes)
values ($1::uuid, string_to_array($2, ' '))
on conflict (user_id) do update set scopes = excluded.scopes;

-- name: sessions_of_user ($1 user id)
select session_uid as uid, (payload::json ->> 'loginTs')::float8 as began
from issuer_records
where user_id = $1::uuid and model = 'Session' and expires_at > now()
order by began desc
limit 50;

-- name: consents_of_user ($1 user id)
select client_id as id, metadata::json ->> 'client_name' as name, array_to_string(scopes, ' ') as scopes
from issuer_consents
join issuer_clients on issuer_clients.id = client_id
where user_id = $1::uuid
order by updated_at desc
limit 50;

-- name: forget_consent ($1 user id, $2 client id)
delete from issuer_consents where user_id = $1::uuid and client_id = $2;

-- name: revoke_client ($1 user id, $2 client id)
delete from issuer_records
where user_id = $1::uuid and client_id = $2 and (model = 'Grant' or grant_hash is not null);

-- name: end_session ($1 user id, $2 session uid)
delete from issuer_records where user_id = $1::uuid and session_uid = $2 and model = 'Session';

-- name: passkeys_of ($1 user id)
select id, public_key, counter::float8 as counter, transports, (extract(epoch from created_at))::float8 as created
from passkeys
where user_id = $1::uuid
order by created_at desc
limit 20;

-- name: find_passkey ($1 id)
select id, user_id::text as owner, public_key, counter::float8 as counter, transports from passkeys where id = $1;

-- name: add_passkey ($1 id, $2 user id, $3 public key in base64url, $4 counter, $5 transports as JSON, $6 maximum)
insert into passkeys (id, user_id, public_key, counter, transports)
select $1, $2::uuid, $3, $4::bigint, $5
where (select count(*) from passkeys where user_id = $2::uuid) < $6::integer
on conflict do nothing
returning true;

-- name: use_passkey ($1 id, $2 counter)
-- No row: the passkey was removed, or another use had this counter. Authenticators without a counter send zero.
update passkeys set counter = $2::bigint
where id = $1 and (counter < $2::bigint or (counter = 0 and $2::bigint = 0))
returning true;

-- name: remove_passkey ($1 user id, $2 id)
delete from passkeys where user_id = $1::uuid and id = $2;

-- The user of a session that has not ended.
-- name: browser_session ($1 hash in base64)
select users.id::text, payload, extract(epoch from expires_at)::float8 as expires,
  array_to_string(user_scopes.scopes, ' ') as scopes
from issuer_records
join users on users.id = issuer_records.user_id
left join user_scopes on user_scopes.user_id = users.id
where hash = decode($1, 'base64') and model = 'Session' and expires_at > now();
