-- Clients of the embedded authorization server. `metadata` is the JSON of RFC 7591 section 2; a secret is in it as its
-- SHA-256.
create table issuer_clients (
  id text primary key,
  metadata text not null,
  created_at timestamptz not null default now()
);

-- Signing keys as JSON Web Keys, and one secret of the pages. `private` may be encrypted.
create table issuer_keys (
  id text primary key,
  purpose text not null check (purpose in ('sign', 'pages')),
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
  user_id uuid references users (id) on delete cascade,
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

-- The scopes that users have allowed to clients, with which later requests need no new consent.
create table issuer_consents (
  user_id uuid not null references users (id) on delete cascade,
  client_id text not null references issuer_clients (id) on delete cascade,
  scopes text[] not null,
  updated_at timestamptz not null default now(),
  primary key (user_id, client_id)
);
create index issuer_consents_client on issuer_consents (client_id);

-- What operators allow to users beyond `self`.
create table user_scopes (
  user_id uuid primary key references users (id) on delete cascade,
  scopes text[] not null
);

-- Notifies all processes of keys that were added, and of grants and clients whose tokens are no longer valid.
create function notify_issuer() returns trigger language plpgsql as $$
begin
  perform pg_notify('plinth_issuer', tg_argv[0]);
  return null;
end $$;

create trigger issuer_keys_changed after insert or update or delete on issuer_keys
  for each statement execute function notify_issuer('keys');
create trigger issuer_grants_revoked after delete on issuer_records
  for each row when (old.model in ('Grant', 'AccessToken', 'ClientCredentials') and old.expires_at > now())
  execute function notify_issuer('revoked');
create trigger issuer_clients_deleted after delete on issuer_clients
  for each statement execute function notify_issuer('revoked');
