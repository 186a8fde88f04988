-- Passkeys (WebAuthn) with which users sign in instead of a password. `id` is that of the credential, in base64url.
create table passkeys (
  id text primary key,
  user_id uuid not null references users (id) on delete cascade,
  public_key text not null,
  counter bigint not null,
  transports text not null,
  created_at timestamptz not null default now()
);
create index passkeys_user on passkeys (user_id);
