-- How users sign in, and the authorization server.

-- Apart from the record, so that no statement that reads records can reveal a hash. Each reset of a password makes a new
-- version; a new hash of an unchanged password does not.
create table passwords (
  user_id uuid primary key references :collections.users (id) on delete cascade,
  hash text not null,
  version integer not null default 1
);

-- Passkeys (WebAuthn) with which users sign in instead of a password. `id` is that of the credential, in base64url.
create table passkeys (
  id text primary key,
  user_id uuid not null references :collections.users (id) on delete cascade,
  public_key text not null,
  counter bigint not null,
  transports text not null,
  created_at timestamptz not null default now()
);
create index passkeys_user on passkeys (user_id);

-- What operators allow to users beyond `self`.
create table user_scopes (
  user_id uuid primary key references :collections.users (id) on delete cascade,
  scopes text[] not null
);

-- Clients of the authorization server. `metadata` is the JSON of RFC 7591 section 2; a secret is in it as its SHA-256.
-- `version` counts the changes.
create table issuer_clients (
  id text primary key,
  metadata text not null,
  created_at timestamptz not null default now(),
  version integer not null default 1
);

-- Signing keys as JSON Web Keys, and one secret of the pages. `private` may be encrypted. `sign` is for ES256, which signs
-- access tokens.
create table issuer_keys (
  id text primary key,
  purpose text not null check (purpose in ('sign', 'sign-rs256', 'pages')),
  public text not null,
  private text not null,
  signs_from timestamptz not null,
  created_at timestamptz not null default now()
);

-- Sessions, grants, codes and tokens. Each is known by the SHA-256 of its model and id alone, and so are user codes.
create table issuer_records (
  hash bytea primary key,
  model text not null,
  payload text not null,
  grant_hash bytea,
  session_uid text,
  user_code_hash bytea,
  user_id uuid references :collections.users (id) on delete cascade,
  client_id text references issuer_clients (id) on delete cascade,
  consumed_at timestamptz,
  expires_at timestamptz not null
);
create index issuer_records_grant on issuer_records (grant_hash) where grant_hash is not null;
create index issuer_records_session on issuer_records (session_uid) where session_uid is not null;
create index issuer_records_user_code on issuer_records (user_code_hash) where user_code_hash is not null;
create index issuer_records_user on issuer_records (user_id) where user_id is not null;
create index issuer_records_client on issuer_records (client_id) where client_id is not null;
create index issuer_records_expires on issuer_records (expires_at);
-- Counts the records that anybody can have stored before a user is known, and finds the oldest ones.
create index issuer_records_strangers on issuer_records (expires_at)
  where user_id is null and model in ('Session', 'Interaction', 'PushedAuthorizationRequest', 'DeviceCode');

-- The scopes that users have allowed to clients, with which later requests need no new consent.
create table issuer_consents (
  user_id uuid not null references :collections.users (id) on delete cascade,
  client_id text not null references issuer_clients (id) on delete cascade,
  scopes text[] not null,
  updated_at timestamptz not null default now(),
  primary key (user_id, client_id)
);
create index issuer_consents_client on issuer_consents (client_id);

-- Ends the sign-ins of a user whose password was reset. A sign-in commits only while the version that it has verified is
-- current, and locks it. So a reset waits for the sign-ins that commit before it: each statement of the function sees them.
create function end_sign_ins() returns trigger language plpgsql as $$
begin
  delete from issuer_records
  where user_id = new.user_id and (model in ('Session', 'Interaction', 'Grant') or grant_hash is not null);
  delete from passkeys where user_id = new.user_id;
  return null;
end $$;

-- Notifies all processes of keys that were added, and of tokens that are no longer valid.
create function notify_issuer() returns trigger language plpgsql as $$
begin
  perform pg_notify('plinth_issuer', tg_argv[0]);
  return null;
end $$;

create trigger passwords_reset after update on passwords
  for each row when (old.version <> new.version) execute function end_sign_ins();
create trigger issuer_keys_changed after insert or update or delete on issuer_keys
  for each statement execute function notify_issuer('keys');
create trigger issuer_grants_revoked after delete on issuer_records
  for each row when (old.model in ('Grant', 'AccessToken', 'ClientCredentials') and old.expires_at > now())
  execute function notify_issuer('revoked');
-- A JWT that was revoked: a record with its id.
create trigger issuer_tokens_revoked after insert on issuer_records
  for each row when (new.model = 'RevokedToken') execute function notify_issuer('revoked');
create trigger issuer_clients_deleted after delete on issuer_clients
  for each statement execute function notify_issuer('revoked');
-- Tokens that are cached may have lost scopes with a change of their client, or of what an operator allows to their user.
create trigger issuer_clients_changed after update on issuer_clients
  for each statement execute function notify_issuer('revoked');
create trigger user_scopes_changed after insert or update or delete on user_scopes
  for each row execute function notify_issuer('revoked');
