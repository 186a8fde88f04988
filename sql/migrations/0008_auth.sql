-- What is taken once: the SHA-256 of a signature, or of an issuer and a `jti`. Shared by all processes.
create table taken (
  hash bytea primary key,
  until timestamptz not null
);
create index taken_until on taken (until);

-- API keys and client certificates, each known by its SHA-256 alone.
create table credentials (
  id uuid primary key,
  kind text not null check (kind in ('key', 'certificate')),
  hash bytea not null unique,
  label text not null,
  subject text not null,
  scopes text[] not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  last_used_at timestamptz
);

-- Tells every process which one is no longer good, in the transaction that makes it so.
create function tell_revoked() returns trigger language plpgsql as $$
begin
  perform pg_notify('plinth_revoked', encode(old.hash, 'base64'));
  return null;
end $$;

create trigger credentials_revoked after delete or update of hash, scopes, subject, expires_at on credentials
  for each row execute function tell_revoked();
